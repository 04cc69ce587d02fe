select distinct person.id, person.name, window_start, window_end from pairs
