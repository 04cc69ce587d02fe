"""Cases: rows with the results that a pipeline must have, as tables or as drawings, and engines that replay them."""
