select bidder, bid_count, window_start, window_end from window_results
