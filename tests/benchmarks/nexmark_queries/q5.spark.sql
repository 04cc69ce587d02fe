select auction, num, window_start, window_end
from (select *, max(num) over (partition by window_start, window_end) as most from window_results)
where num = most
