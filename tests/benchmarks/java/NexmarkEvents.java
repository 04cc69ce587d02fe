import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.beam.sdk.nexmark.NexmarkConfiguration;
import org.apache.beam.sdk.nexmark.model.Auction;
import org.apache.beam.sdk.nexmark.model.Bid;
import org.apache.beam.sdk.nexmark.model.Event;
import org.apache.beam.sdk.nexmark.model.Person;
import org.apache.beam.sdk.nexmark.sources.generator.Generator;
import org.apache.beam.sdk.nexmark.sources.generator.GeneratorConfig;

/**
 * Writes the events of Beam's Nexmark generator, with its defaults, to the files person, auction and bid: a line an event,
 * columns between tabs, times in milliseconds.
 *
 * <p>Arguments: folder, number of events, milliseconds of the first.
 */
public final class NexmarkEvents {
    public static void main(String[] arguments) throws IOException {
        NexmarkConfiguration settings = NexmarkConfiguration.DEFAULT.copy();
        settings.numEventGenerators = 1;
        long events = Long.parseLong(arguments[1]), baseMs = Long.parseLong(arguments[2]);
        Generator generator = new Generator(new GeneratorConfig(settings, baseMs, 1, events, 1));
        Path folder = Path.of(arguments[0]);
        try (BufferedWriter persons = Files.newBufferedWriter(folder.resolve("person"));
                BufferedWriter auctions = Files.newBufferedWriter(folder.resolve("auction"));
                BufferedWriter bids = Files.newBufferedWriter(folder.resolve("bid"))) {
            while (generator.hasNext()) {
                Event event = generator.next().getValue();
                if (event.bid != null) {
                    Bid bid = event.bid;
                    line(bids, bid.auction, bid.bidder, bid.price, bid.dateTime.getMillis(), bid.extra);
                } else if (event.newAuction != null) {
                    Auction auction = event.newAuction;
                    line(
                            auctions,
                            auction.id,
                            auction.itemName,
                            auction.description,
                            auction.initialBid,
                            auction.reserve,
                            auction.dateTime.getMillis(),
                            auction.expires.getMillis(),
                            auction.seller,
                            auction.category,
                            auction.extra);
                } else {
                    Person person = event.newPerson;
                    line(
                            persons,
                            person.id,
                            person.name,
                            person.emailAddress,
                            person.creditCard,
                            person.city,
                            person.state,
                            person.dateTime.getMillis(),
                            person.extra);
                }
            }
        }
    }

    private static void line(BufferedWriter file, Object... columns) throws IOException {
        for (int at = 0; at < columns.length; at++) {
            file.write(at == 0 ? "" : "\t");
            file.write(columns[at].toString());
        }
        file.write('\n');
    }

    private NexmarkEvents() {}
}
