// The shop's own database. It is a file beside the gateway's data, and the gateway knows nothing of it.
import { DatabaseSync } from 'node:sqlite'

export interface Order {
  readonly number: number
  readonly item: string
  /** The price in euros. */
  readonly price: number
  readonly refunded: number
}

export interface Repair {
  readonly number: number
  readonly thread: string
  readonly wish: string
  readonly photo: Uint8Array | null
  readonly state: 'waiting' | 'ready'
}

/** A bicycle that its owner brings for a repair. */
interface Brought extends Pick<Repair, 'thread' | 'wish' | 'photo'> {
  /** The number of the message. A turn may run twice; the second time adds nothing. */
  readonly message: number
  /** The key of the person in the workshop's records. */
  readonly person: string
  readonly address: string
}

const tables = `
  CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, owner TEXT, item TEXT, price REAL);
  CREATE TABLE IF NOT EXISTS refunds (message INTEGER, number INTEGER, amount REAL, PRIMARY KEY (message, number));
  CREATE TABLE IF NOT EXISTS repairs (
    number INTEGER PRIMARY KEY, message INTEGER UNIQUE, person TEXT, address TEXT, thread TEXT, wish TEXT, photo BLOB, ended_by INTEGER
  );
  CREATE TABLE IF NOT EXISTS news (week TEXT PRIMARY KEY);
  INSERT OR IGNORE INTO orders (number, owner, item, price) VALUES
    (17, '@alice@alice.test', 'Saddle', 45), (18, '@alice@alice.test', 'City bike', 799), (19, '@bob@nodmarc.test', 'Bell', 12);
`

const repairColumns = "number, thread, wish, photo, CASE WHEN ended_by IS NULL THEN 'waiting' ELSE 'ready' END AS state"

/** Opens the database, and creates its tables the first time. */
export function openShop() {
  const database = new DatabaseSync(process.env.SHOP_DATABASE ?? 'shop.db', { timeout: 5_000 })
  database.exec(tables)
  const order = database.prepare(`
    SELECT number, item, price, owner, (SELECT total(amount) FROM refunds WHERE refunds.number = orders.number) AS refunded
    FROM orders WHERE number = ?`)
  const refund = database.prepare(`
    INSERT OR IGNORE INTO refunds SELECT $message, number, $amount FROM orders WHERE number = $number
    AND price >= $amount + (SELECT total(amount) FROM refunds WHERE number = $number AND message <> $message)`)
  const refunded = database.prepare('SELECT amount FROM refunds WHERE message = ? AND number = ?')
  const bring = database.prepare(
    'INSERT OR IGNORE INTO repairs (message, person, address, thread, wish, photo) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const brought = database.prepare(`SELECT ${repairColumns} FROM repairs WHERE message = ?`)
  const repair = database.prepare(`SELECT ${repairColumns} FROM repairs WHERE number = ?`)
  const ofAddress = database.prepare('SELECT number, wish, ended_by FROM repairs WHERE address = ? ORDER BY number')
  const end = database.prepare(
    `UPDATE repairs SET ended_by = ? WHERE number = ? AND coalesce(ended_by, ?) = ? RETURNING ${repairColumns}`,
  )
  const week = database.prepare('INSERT OR IGNORE INTO news (week) VALUES (?)')
  const forget = database.prepare('DELETE FROM repairs WHERE person = ? OR thread IN (SELECT value FROM json_each(?))')
  return {
    /** Finds the order, if one of the addresses has made it. */
    findOrder(number: number, owners: readonly string[]): Order | undefined {
      const row = order.get(number)
      if (!row || !owners.includes(String(row.owner))) return undefined
      const { owner: _, ...withoutOwner } = row
      return withoutOwner as unknown as Order
    },
    /**
     * Refunds money of an order, once per message, because a turn may run twice. Returns the amount that the message has refunded. It is undefined
     * if the order has not cost as much, and another amount if the message had refunded before.
     */
    refundOrder(message: number, number: number, amount: number): number | undefined {
      refund.run({ message, number, amount })
      return refunded.get(message, number)?.amount as number | undefined
    },
    bringBicycle({ message, person, address, thread, wish, photo }: Brought): Repair {
      bring.run(message, person, address, thread, wish, photo)
      return brought.get(message) as unknown as Repair
    },
    findRepair: (number: number) => repair.get(number) as unknown as Repair | undefined,
    listRepairs: (address: string) =>
      ofAddress.all(address).map(({ number, wish, ended_by }) => ({ number, wish, isReady: ended_by !== null })),
    /** Ends the repair; undefined if another message has ended it. */
    endRepair: (number: number, message: number) =>
      end.get(message, number, message, message) as unknown as Repair | undefined,
    /** Returns true the first time in a week, because the gateway may start often. */
    isNewWeek: (monday: string) => week.run(monday).changes > 0,
    forgetOwner: (person: string | undefined, threads: readonly string[]) =>
      void forget.run(person ?? null, JSON.stringify(threads)),
    close: () => database.close(),
  }
}
