"""Apache Ozone: storage container manager, ozone manager, datanodes; Hadoop on ``ofs``."""
