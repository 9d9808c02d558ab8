"""Other hosts: which are here, what their files say, and how our entry gets in and out of them."""
