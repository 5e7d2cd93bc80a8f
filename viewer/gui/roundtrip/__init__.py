"""The tab "Round trip": does a tensor, or a part of a file, survive being saved and reloaded?"""
