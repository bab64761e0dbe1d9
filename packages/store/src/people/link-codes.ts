import type { LinkAsked, LinkConfirmation, LinkConfirmed, LinkRefusal, LinkRequest } from '@postern/core'
import { linkLimits } from '@postern/core'
import type { ChannelFacts } from '../channels/facts.ts'
import type { Batch, Sql } from '../engine/database.ts'
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
  const codes = prepareCodeQueries(db)
  const links = createLinkTable(db, people)
  const removal = createCodeRemoval(db, removeNotice)
  const claim = createAddressClaim(people, endLinks)
  const findRefusal = createRefusalFinder({ db, channels }, people)

  return {
    request(batch, { agent, asker, target, message, digest, notice }, now) {
      const known = codes.findAsked.get(message)
      if (known) return { outcome: 'sent', notice: known.notice }
      removal.purge(batch, now)
      const [from, to] = [formatPersonKey(asker), formatPersonKey(target)]
      if (people.findSubject(agent, from)) claim(batch, { agent, key: from, subject: asker.subject }, now)
      const host = asker.address.slice(asker.address.lastIndexOf('@') + 1)
      const reason = findRefusal({ agent, from, to, host }, now)
      if (reason) return { outcome: 'refused', reason }
      codes.supersede.run(now, agent, from, to)
      const whose = [from, host, asker.subject, to, target.subject ?? null, withoutTag(to, channels)] as const
      codes.insert.run(message, agent, ...whose, digest, notice, now, now + linkLimits.codeMs)
      return { outcome: 'sent', notice }
    },
    confirm(batch, { agent, asker, message, digest, notice }, now) {
      const from = formatPersonKey(asker)
      const used = codes.findUsed.get(agent, from, digest, message)
      if (used)
        return {
          outcome: 'linked',
          target: readPersonKey(used.target),
          notice: links.findNotice(agent, from, used.target) ?? notice,
        }
      const whose = [agent, from, asker.subject, now, linkLimits.tries] as const
      const waiting = codes.listOpen.all(...whose)
      if (waiting.length === 0) return { outcome: 'none' }
      const code = codes.find.get(...whose, digest)
      if (!code) {
        codes.miss.run(...whose)
        return { outcome: 'wrong', triesLeft: Math.max(...waiting.map(({ tries }) => linkLimits.tries - tries - 1)) }
      }
      codes.use.run(now, message, code.message)
      claim(batch, { agent, key: from, subject: asker.subject }, now)
      claim(batch, { agent, key: code.target, subject: code.target_subject ?? undefined }, now)
      const proof = { asked: code.message, confirmed: message, notice, at: now }
      if (!links.join(agent, [from, code.target], proof)) return { outcome: 'full' }
      return { outcome: 'linked', target: readPersonKey(code.target), notice }
    },
    forget: removal.forget,
  }
}

function prepareCodeQueries(db: Sql) {
  const open = 'agent = ? AND asker = ? AND asker_subject = ? AND ended_at IS NULL AND expires_at > ? AND tries < ?'
  const columns = 'message, target, target_subject, tries, ended_in'
  return {
    insert: db.prepare(
      `INSERT INTO link_codes (message, agent, asker, asker_host, asker_subject, target, target_subject, sent_to, digest, notice, asked_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    findAsked: db.prepare<{ notice: string }>('SELECT notice FROM link_codes WHERE message = ?'),
    supersede: db.prepare(
      'UPDATE link_codes SET ended_at = ? WHERE agent = ? AND asker = ? AND target = ? AND ended_at IS NULL',
    ),
    listOpen: db.prepare<CodeRow>(`SELECT ${columns} FROM link_codes WHERE ${open}`),
    find: db.prepare<CodeRow>(`SELECT ${columns} FROM link_codes WHERE ${open} AND digest = ?`),
    findUsed: db.prepare<CodeRow>(
      `SELECT ${columns} FROM link_codes WHERE agent = ? AND asker = ? AND digest = ? AND ended_in = ?`,
    ),
    miss: db.prepare(`UPDATE link_codes SET tries = tries + 1 WHERE ${open}`),
    use: db.prepare('UPDATE link_codes SET ended_at = ?, ended_in = ? WHERE message = ?'),
  }
}

interface CodeRemoval {
  /** Takes away codes that are no longer counted, a few at a time. */
  purge(batch: Batch, now: number): void
  readonly forget: LinkCodeTable['forget']
}

function createCodeRemoval(db: Sql, removeNotice: RemoveNotice): CodeRemoval {
  const listOld = db.prepare<{ message: number; notice: string }>(
    'SELECT message, notice FROM link_codes WHERE asked_at < ? ORDER BY asked_at LIMIT +?',
  )
  const listOf = db.prepare<{ message: number; notice: string }>(
    `SELECT message, notice FROM link_codes
     WHERE (?1 IS NULL OR agent = ?1) AND (asker IN (SELECT value FROM json_each(?2)) OR target IN (SELECT value FROM json_each(?2)))`,
  )
  const remove = db.prepare('DELETE FROM link_codes WHERE message = ?')

  function removeAll(batch: Batch, codes: readonly { message: number; notice: string }[], now: number): void {
    for (const { message, notice } of codes) {
      // What carried a code is of no use to anybody once it is over.
      removeNotice(batch, notice, now)
      remove.run(message)
    }
  }

  return {
    purge: (batch, now) => removeAll(batch, listOld.all(now - keptMs, mostPurged), now),
    forget: (batch, agent, keys, now) => removeAll(batch, listOf.all(agent ?? null, JSON.stringify(keys)), now),
  }
}

interface Owner {
  readonly agent: string
  readonly key: string
  readonly subject: string | undefined
}

/** What was linked with an address stays with who had it then: somebody else who has it now begins anew. */
function createAddressClaim(people: PersonTable, endLinks: EndLinks) {
  return (batch: Batch, { agent, key, subject }: Owner, now: number): void => {
    const known = people.findSubject(agent, key)?.subject
    if (typeof known === 'string' && subject !== undefined && known !== subject) {
      const before = people.findKeys(agent, key)
      for (const each of before) people.endState(agent, each)
      endLinks(batch, { agent, key }, now)
      people.dropUnlinked(agent, before)
    }
    people.know(agent, key, subject)
  }
}

interface Proof {
  readonly notice: string
  readonly asked: number
  readonly confirmed: number
  readonly at: number
}

interface LinkTable {
  /** The notice that carried the code of a link. */
  findNotice(agent: string, asker: string, target: string): string | undefined
  /** The person who asks keeps what the agent knows of them; the other's state gives way. @returns false when they have too many addresses */
  join(agent: string, pair: readonly [asker: string, target: string], proof: Proof): boolean
}

function createLinkTable(db: Sql, people: PersonTable): LinkTable {
  const insert = db.prepare(
    `INSERT INTO person_links (agent, asker, target, asked_in, confirmed_in, notice, since) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  )
  const find = db.prepare<{ notice: string }>(
    'SELECT notice FROM person_links WHERE agent = ? AND asker = ? AND target = ?',
  )
  return {
    findNotice: (agent, asker, target) => find.get(agent, asker, target)?.notice,
    join(agent, [asker, target], proof) {
      const own = people.findKeys(agent, asker)
      const others = people.findKeys(agent, target)
      if (new Set([...own, ...others]).size > linkLimits.addresses) {
        people.dropUnlinked(agent, [asker, target])
        return false
      }
      insert.run(agent, asker, target, proof.asked, proof.confirmed, proof.notice, proof.at)
      const [id = asker] = people.findKeys(agent, asker)
      people.moveState(agent, own[0] ?? asker, id)
      people.offerState(agent, others[0] ?? target, id)
      return true
    },
  }
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
    const query = db.prepare<{ n: number }>(`SELECT count(*) AS n FROM link_codes WHERE ${column} = ? AND asked_at > ?`)
    return (value: string, since: number) => query.get(value, since)?.n ?? 0
  }
  const inAll = db.prepare<{ n: number }>('SELECT count(*) AS n FROM link_codes WHERE asked_at > ?')
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
