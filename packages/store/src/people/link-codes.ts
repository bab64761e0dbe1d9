import type { LinkAsked, LinkConfirmation, LinkConfirmed, LinkRefusal, LinkRequest } from '@postern/core'
import { linkLimits } from '@postern/core'
import type { ChannelFacts } from '../channels/facts.ts'
import type { Batch } from '../engine/batch.ts'
import { prepareQuery } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { EndLinks } from './link-ending.ts'
import type { RemoveNotice } from './notice-removal.ts'
import type { PersonTable } from './table.ts'
import { formatPersonKey, readPersonKey } from './table.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** As long as anything is counted. */
const keptMs = 2 * dayMs
const mostPurged = 20

interface CodeRow {
  readonly message: number
  readonly target: string
  readonly target_subject: string | null
  readonly tries: number
  readonly ended_in: number | null
}

/** Codes on their way, and links that come of them. Synchronous: inside a write. */
export interface LinkCodeTable {
  request(batch: Batch, request: LinkRequest, now: number): LinkAsked
  confirm(batch: Batch, confirmation: LinkConfirmation, now: number): LinkConfirmed
  /** All codes from or to these addresses, with what carried them. */
  forget(batch: Batch, agent: string | undefined, keys: readonly string[], now: number): void
}

export function createLinkCodeTable(
  { db, channels }: Pick<StoreContext, 'db' | 'channels'>,
  people: PersonTable,
  { removeNotice, endLinks }: { readonly removeNotice: RemoveNotice; readonly endLinks: EndLinks },
): LinkCodeTable {
  const insert = prepareQuery(
    db,
    `INSERT INTO link_codes (message, agent, asker, asker_host, asker_subject, target, target_subject, sent_to, digest, notice, asked_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const findAsked = prepareQuery<{ notice: string }>(db, 'SELECT notice FROM link_codes WHERE message = ?')
  const supersede = prepareQuery(
    db,
    'UPDATE link_codes SET ended_at = ? WHERE agent = ? AND asker = ? AND target = ? AND ended_at IS NULL',
  )
  const open = 'agent = ? AND asker = ? AND asker_subject = ? AND ended_at IS NULL AND expires_at > ? AND tries < ?'
  const columns = 'message, target, target_subject, tries, ended_in'
  const listOpen = prepareQuery<CodeRow>(db, `SELECT ${columns} FROM link_codes WHERE ${open}`)
  const findCode = prepareQuery<CodeRow>(db, `SELECT ${columns} FROM link_codes WHERE ${open} AND digest = ?`)
  const findUsed = prepareQuery<CodeRow>(
    db,
    `SELECT ${columns} FROM link_codes WHERE agent = ? AND asker = ? AND digest = ? AND ended_in = ?`,
  )
  const miss = prepareQuery(db, `UPDATE link_codes SET tries = tries + 1 WHERE ${open}`)
  const use = prepareQuery(db, 'UPDATE link_codes SET ended_at = ?, ended_in = ? WHERE message = ?')
  const insertLink = prepareQuery(
    db,
    `INSERT INTO person_links (agent, asker, target, asked_in, confirmed_in, notice, since) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  )
  const findLink = prepareQuery<{ notice: string }>(
    db,
    'SELECT notice FROM person_links WHERE agent = ? AND asker = ? AND target = ?',
  )
  const findRefusal = createRefusalFinder({ db, channels }, people)
  const listOld = prepareQuery<{ message: number; notice: string }>(
    db,
    'SELECT message, notice FROM link_codes WHERE asked_at < ? ORDER BY asked_at LIMIT +?',
  )
  const listOf = prepareQuery<{ message: number; notice: string }>(
    db,
    `SELECT message, notice FROM link_codes
     WHERE (?1 IS NULL OR agent = ?1) AND (asker IN (SELECT value FROM json_each(?2)) OR target IN (SELECT value FROM json_each(?2)))`,
  )
  const remove = prepareQuery(db, 'DELETE FROM link_codes WHERE message = ?')

  function removeAll(batch: Batch, codes: readonly { message: number; notice: string }[], now: number): void {
    for (const { message, notice } of codes) {
      // What carried a code is of no use to anybody once it is over.
      removeNotice(batch, notice, now)
      remove.run(message)
    }
  }

  /** What was linked with an address stays with who had it then: somebody else who has it now begins anew. */
  function claim(batch: Batch, { agent, key, subject }: Owner, now: number): void {
    const known = people.findSubject(agent, key)?.subject
    if (typeof known === 'string' && subject !== undefined && known !== subject) {
      const before = people.findKeys(agent, key)
      for (const each of before) people.endState(agent, each)
      endLinks(batch, { agent, key }, now)
      people.dropUnlinked(agent, before)
    }
    people.know(agent, key, subject)
  }

  /** The person who asks keeps what the agent knows of them; the other's state gives way. */
  function join(agent: string, [asker, target]: readonly [string, string], proof: Proof): LinkConfirmed['outcome'] {
    const own = people.findKeys(agent, asker)
    const others = people.findKeys(agent, target)
    if (new Set([...own, ...others]).size > linkLimits.addresses) return 'full'
    insertLink.run(agent, asker, target, proof.asked, proof.confirmed, proof.notice, proof.at)
    const [id = asker] = people.findKeys(agent, asker)
    people.moveState(agent, own[0] ?? asker, id)
    people.offerState(agent, others[0] ?? target, id)
    return 'linked'
  }

  return {
    request(batch, { agent, asker, target, message, digest, notice }, now) {
      const known = findAsked.get(message)
      if (known) return { outcome: 'sent', notice: known.notice }
      removeAll(batch, listOld.all(now - keptMs, mostPurged), now)
      const [from, to] = [formatPersonKey(asker), formatPersonKey(target)]
      if (people.findSubject(agent, from)) claim(batch, { agent, key: from, subject: asker.subject }, now)
      const host = asker.address.slice(asker.address.lastIndexOf('@') + 1)
      const reason = findRefusal({ agent, from, to, host }, now)
      if (reason) return { outcome: 'refused', reason }
      supersede.run(now, agent, from, to)
      const whose = [from, host, asker.subject, to, target.subject ?? null, withoutTag(to, channels)] as const
      insert.run(message, agent, ...whose, digest, notice, now, now + linkLimits.codeMs)
      return { outcome: 'sent', notice }
    },
    confirm(batch, { agent, asker, message, digest, notice }, now) {
      const from = formatPersonKey(asker)
      const used = findUsed.get(agent, from, digest, message)
      if (used)
        return {
          outcome: 'linked',
          target: readPersonKey(used.target),
          notice: findLink.get(agent, from, used.target)?.notice ?? notice,
        }
      const whose = [agent, from, asker.subject, now, linkLimits.tries] as const
      const waiting = listOpen.all(...whose)
      if (waiting.length === 0) return { outcome: 'none' }
      const code = findCode.get(...whose, digest)
      if (!code) {
        miss.run(...whose)
        return { outcome: 'wrong', triesLeft: Math.max(...waiting.map(({ tries }) => linkLimits.tries - tries - 1)) }
      }
      use.run(now, message, code.message)
      claim(batch, { agent, key: from, subject: asker.subject }, now)
      claim(batch, { agent, key: code.target, subject: code.target_subject ?? undefined }, now)
      const outcome = join(agent, [from, code.target], { asked: code.message, confirmed: message, notice, at: now })
      if (outcome === 'full') {
        people.dropUnlinked(agent, [from, code.target])
        return { outcome }
      }
      return { outcome: 'linked', target: readPersonKey(code.target), notice }
    },
    forget: (batch, agent, keys, now) => removeAll(batch, listOf.all(agent ?? null, JSON.stringify(keys)), now),
  }
}

interface Owner {
  readonly agent: string
  readonly key: string
  readonly subject: string | undefined
}

interface Proof {
  readonly notice: string
  readonly asked: number
  readonly confirmed: number
  readonly at: number
}

interface Wish {
  readonly agent: string
  readonly from: string
  readonly to: string
  readonly host: string
}

/** Whoever asks, so many codes go to one address; whomever they ask for, so many does one ask for. */
function createRefusalFinder(
  { db, channels }: Pick<StoreContext, 'db' | 'channels'>,
  people: PersonTable,
): (wish: Wish, now: number) => LinkRefusal | undefined {
  const count = (column: 'asker' | 'asker_host' | 'sent_to') => {
    const query = prepareQuery<{ n: number }>(
      db,
      `SELECT count(*) AS n FROM link_codes WHERE ${column} = ? AND asked_at > ?`,
    )
    return (value: string, since: number) => query.get(value, since)?.n ?? 0
  }
  const inAll = prepareQuery<{ n: number }>(db, 'SELECT count(*) AS n FROM link_codes WHERE asked_at > ?')
  const [ofAsker, ofHost, toTarget] = [count('asker'), count('asker_host'), count('sent_to')]
  return ({ agent, from, to, host }, now) => {
    const keys = people.findKeys(agent, from)
    if (keys.includes(to)) return 'linked'
    if (new Set([...keys, ...people.findKeys(agent, to)]).size > linkLimits.addresses) return 'full'
    if (ofAsker(from, now - hourMs) >= linkLimits.askedPerHour) return 'asked_too_often'
    if ((inAll.get(now - dayMs)?.n ?? 0) >= linkLimits.sentPerDay) return 'asked_too_often'
    if (ofHost(host, now - dayMs) >= linkLimits.askedPerHostDay) return 'asked_too_often'
    return toTarget(withoutTag(to, channels), now - dayMs) >= linkLimits.sentPerTargetDay ? 'sent_too_often' : undefined
  }
}

/** One mailbox has as many of these as it likes. */
function withoutTag(key: string, { isMailbox }: Pick<ChannelFacts, 'isMailbox'>): string {
  const { via } = readPersonKey(key)
  return isMailbox(via) ? key.replace(/^([^ ]+ @[^+@]+)\+[^@]*/, '$1') : key
}
