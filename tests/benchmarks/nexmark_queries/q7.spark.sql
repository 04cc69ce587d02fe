select bid.auction, bid.price, bid.bidder, bid.dateTime, bid.extra
from bid join window_results as w
  on bid.price = w.highest and bid.dateTime >= w.window_start and bid.dateTime < w.window_end
