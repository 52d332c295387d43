"""HFM (Bian and Luo): exact set distances, their approximation, and what a classifier adds."""
