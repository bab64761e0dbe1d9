// Issues codes that link two addresses of a person.
import type {
  LinkConfirmation,
  LinkConfirmationResult,
  LinkRefusal,
  LinkRequest,
  LinkRequestResult,
} from '@postern/pipeline'
import { linkLimits } from '@postern/pipeline'
import type { ChannelFacts } from '../channels/channel-facts.ts'
import type { KeyedDigests } from '../digests/keyed-digest.ts'
import { createKeyedDigests } from '../digests/keyed-digest.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { DeleteLinks } from './link-removal.ts'
import type { QueueLinkNotice } from './linked-events.ts'
import type { RemoveNotice } from './notice-removal.ts'
import type { PersonTable } from './person-table.ts'
import { formatPersonKey, readPersonKey } from './person-table.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** The time after which a code is deleted, ms. It is longer than every period of the limits. */
const retentionMs = 2 * dayMs
const maxPurged = 20

interface CodeRow {
  readonly message: number
  readonly target: string
  readonly target_subject: string | null
  readonly tries: number
  readonly ended_in: number | null
}

/** Issues codes and links the addresses whose codes are confirmed. The members are operations of a write. */
export interface LinkCodeTable {
  request(batch: Batch, request: LinkRequest, now: number): Operation<LinkRequestResult>
  confirm(batch: Batch, confirmation: LinkConfirmation, now: number): Operation<LinkConfirmationResult>
  /** Deletes all codes from or to these addresses, with the notices that carried them, and returns their number. */
  forget(batch: Batch, filter: ForgottenCodes, now: number): Operation<number>
}

interface ForgottenCodes {
  readonly agent: string | undefined
  readonly keys: readonly string[]
  /** True if the person asks for it. The codes then end and lose the names, but still count for the limits. */
  readonly isOwn: boolean
}

interface LinkCodeDeps {
  readonly removeNotice: RemoveNotice
  readonly deleteLinks: DeleteLinks
  readonly queueEvent: QueueLinkNotice
}

export function createLinkCodeTable(
  { db, channels, handledSecret }: Pick<StoreContext, 'db' | 'channels' | 'handledSecret'>,
  people: PersonTable,
  { removeNotice, deleteLinks, queueEvent }: LinkCodeDeps,
): LinkCodeTable {
  const codes = prepareCodeQueries(db)
  const digests = createKeyedDigests({ handledSecret })
  const links = createLinkTable(db, people)
  const removal = createCodeRemoval(db, removeNotice, digests)
  const registerOwner = createOwnerRegistration(people, deleteLinks)
  const findRefusal = createRefusalFinder({ db, channels }, people, digests)

  return {
    *request(batch, { agent, asker, target, message, digest, notice }, now) {
      const earlierCode = yield* codes.findByMessage.get(message)
      if (earlierCode) return { outcome: 'sent', notice: earlierCode.notice }
      yield* removal.purge(batch, now)
      const [from, to] = [formatPersonKey(asker), formatPersonKey(target)]
      if (yield* people.findSubject(agent, from))
        yield* registerOwner(batch, { agent, key: from, subject: asker.subject }, now)
      const host = asker.address.slice(asker.address.lastIndexOf('@') + 1)
      const reason = yield* findRefusal({ agent, from, to, host }, now)
      if (reason) return { outcome: 'refused', reason }
      codes.supersede.run(now, agent, from, to)
      const codeValues = [from, host, asker.subject, to, target.subject ?? null, removeTag(to, channels)] as const
      codes.insert.run(message, agent, ...codeValues, digest, notice, now, now + linkLimits.codeLifetimeMs)
      return { outcome: 'sent', notice }
    },
    confirm: createCodeConfirmation(codes, people, { links, registerOwner, queueEvent }),
    forget: removal.forget,
  }
}

interface CodeConfirmationDeps extends Pick<LinkCodeDeps, 'queueEvent'> {
  readonly links: LinkTable
  readonly registerOwner: RegisterOwner
}

/** Prepares the confirmation of a code, which links the two addresses. */
function createCodeConfirmation(
  codes: ReturnType<typeof prepareCodeQueries>,
  people: PersonTable,
  { links, registerOwner, queueEvent }: CodeConfirmationDeps,
): LinkCodeTable['confirm'] {
  return function* (batch, { agent, asker, message, digest, formerDigests = [], notice, events }, now) {
    const digests = JSON.stringify([digest, ...formerDigests])
    const askerKey = formatPersonKey(asker)
    const usedCode = yield* codes.findUsed.get(agent, askerKey, digests, message)
    if (usedCode)
      return {
        outcome: 'linked',
        target: readPersonKey(usedCode.target),
        notice: (yield* links.findNotice(agent, askerKey, usedCode.target)) ?? notice,
      }
    const openCodeValues = [agent, askerKey, asker.subject, now, linkLimits.maxAttempts] as const
    const openCodes = yield* codes.listOpen.all(...openCodeValues)
    if (openCodes.length === 0) return { outcome: 'none' }
    const code = yield* codes.find.get(...openCodeValues, digests)
    if (!code) {
      codes.countMiss.run(...openCodeValues)
      return {
        outcome: 'wrong',
        attemptsLeft: Math.max(...openCodes.map(({ tries }) => linkLimits.maxAttempts - tries - 1)),
      }
    }
    codes.consume.run(now, message, code.message)
    yield* registerOwner(batch, { agent, key: askerKey, subject: asker.subject }, now)
    yield* registerOwner(batch, { agent, key: code.target, subject: code.target_subject ?? undefined }, now)
    const proof = { requestedIn: code.message, confirmedIn: message, notice, at: now }
    const personsBefore = yield* people.describeAll(agent, [askerKey, code.target])
    if (!(yield* links.join(agent, [askerKey, code.target], proof))) return { outcome: 'full' }
    yield* queueEvent(
      batch,
      { kind: 'link', personsBefore, personsAfter: yield* people.describeAll(agent, [askerKey]) },
      events,
    )
    return { outcome: 'linked', target: readPersonKey(code.target), notice }
  }
}

function prepareCodeQueries(db: Sql) {
  const openCondition =
    'agent = ? AND asker = ? AND asker_subject = ? AND ended_at IS NULL AND expires_at > ? AND tries < ?'
  const columns = 'message, target, target_subject, tries, ended_in'
  return {
    insert: db.prepare(
      `INSERT INTO link_codes (message, agent, asker, asker_host, asker_subject, target, target_subject, sent_to, digest, notice, asked_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    findByMessage: db.prepare<{ notice: string }>('SELECT notice FROM link_codes WHERE message = ?'),
    supersede: db.prepare(
      'UPDATE link_codes SET ended_at = ? WHERE agent = ? AND asker = ? AND target = ? AND ended_at IS NULL',
    ),
    listOpen: db.prepare<CodeRow>(`SELECT ${columns} FROM link_codes WHERE ${openCondition}`),
    find: db.prepare<CodeRow>(
      `SELECT ${columns} FROM link_codes WHERE ${openCondition} AND digest IN (SELECT value FROM json_each(?))`,
    ),
    findUsed: db.prepare<CodeRow>(
      `SELECT ${columns} FROM link_codes WHERE agent = ? AND asker = ? AND digest IN (SELECT value FROM json_each(?)) AND ended_in = ?`,
    ),
    countMiss: db.prepare(`UPDATE link_codes SET tries = tries + 1 WHERE ${openCondition}`),
    consume: db.prepare('UPDATE link_codes SET ended_at = ?, ended_in = ? WHERE message = ?'),
  }
}

interface CodeRemoval {
  /** Deletes some of the codes that no longer count for the limits. */
  purge(batch: Batch, now: number): Operation<void>
  readonly forget: LinkCodeTable['forget']
}

interface CodeNames extends Record<'asker' | 'target' | 'sent_to' | 'notice', string> {
  readonly message: number
}

function createCodeRemoval(db: Sql, removeNotice: RemoveNotice, digests: KeyedDigests): CodeRemoval {
  const listOld = db.prepare<{ message: number; notice: string }>(
    'SELECT message, notice FROM link_codes WHERE asked_at < ? ORDER BY asked_at LIMIT +?',
  )
  const listByKeys = db.prepare<CodeNames>(
    `SELECT message, notice, asker, target, sent_to FROM link_codes
     WHERE (?1 IS NULL OR agent = ?1) AND (asker IN (SELECT value FROM json_each(?2)) OR target IN (SELECT value FROM json_each(?2)))`,
  )
  const remove = db.prepare('DELETE FROM link_codes WHERE message = ?')
  const anonymize = db.prepare(
    `UPDATE link_codes SET asker = ?2, asker_subject = '', target = ?3, target_subject = NULL, sent_to = ?4, digest = '', notice = '',
       ended_at = coalesce(ended_at, ?5) WHERE message = ?1`,
  )

  function* removeCodes(
    batch: Batch,
    codes: readonly { message: number; notice: string }[],
    now: number,
  ): Operation<number> {
    for (const { message, notice } of codes) {
      // The notice that carried a code is useless once the code has expired.
      yield* removeNotice(batch, notice, now)
      remove.run(message)
    }
    return codes.length
  }

  return {
    *purge(batch, now) {
      yield* removeCodes(batch, yield* listOld.all(now - retentionMs, maxPurged), now)
    },
    *forget(batch, { agent, keys, isOwn }, now) {
      const codes = yield* listByKeys.all(agent ?? null, JSON.stringify(isOwn ? keys : digests.withDigests(keys)))
      if (!isOwn) return yield* removeCodes(batch, codes, now)
      const digest = (name: string) => digests.digest(name)
      for (const { message, notice, asker, target, sent_to } of codes) {
        yield* removeNotice(batch, notice, now)
        anonymize.run(message, digest(asker), digest(target), digest(sent_to), now)
      }
      return codes.length
    },
  }
}

interface AddressOwner {
  readonly agent: string
  readonly key: string
  readonly subject: string | undefined
}

type RegisterOwner = (batch: Batch, owner: AddressOwner, now: number) => Operation<void>

/**
 * Prepares the registration of the owner of an address. If the address had another principal before, its links and their shared state are deleted, so
 * that the new owner begins without them.
 */
function createOwnerRegistration(people: PersonTable, deleteLinks: DeleteLinks): RegisterOwner {
  return function* (batch, { agent, key, subject }, now) {
    const storedSubject = (yield* people.findSubject(agent, key))?.subject
    if (typeof storedSubject === 'string' && subject !== undefined && storedSubject !== subject) {
      const linkedKeys = yield* people.findKeys(agent, key)
      for (const formerKey of linkedKeys) people.deleteState(agent, formerKey)
      yield* deleteLinks(batch, { agent, key }, now)
      people.dropUnlinked(agent, linkedKeys)
    }
    people.storeAddress(agent, key, subject)
  }
}

interface LinkProof {
  readonly notice: string
  readonly requestedIn: number
  readonly confirmedIn: number
  readonly at: number
}

interface LinkTable {
  /** Returns the notice that carried the code of a link. */
  findNotice(agent: string, asker: string, target: string): Operation<string | undefined>
  /**
   * Links two addresses. The state that the agent has stored for the asker stays. The state of the target is used only if the asker has none.
   * @returns false if the person has too many addresses
   */
  join(agent: string, pair: readonly [asker: string, target: string], proof: LinkProof): Operation<boolean>
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
    *findNotice(agent, asker, target) {
      return (yield* find.get(agent, asker, target))?.notice
    },
    *join(agent, [asker, target], proof) {
      const askerKeys = yield* people.findKeys(agent, asker)
      const targetKeys = yield* people.findKeys(agent, target)
      if (new Set([...askerKeys, ...targetKeys]).size > linkLimits.maxAddresses) {
        people.dropUnlinked(agent, [asker, target])
        return false
      }
      insert.run(agent, asker, target, proof.requestedIn, proof.confirmedIn, proof.notice, proof.at)
      const [id = asker] = yield* people.findKeys(agent, asker)
      people.moveState(agent, askerKeys[0] ?? asker, id)
      people.copyStateIfAbsent(agent, targetKeys[0] ?? target, id)
      return true
    },
  }
}

interface PlannedLink {
  readonly agent: string
  readonly from: string
  readonly to: string
  readonly host: string
}

/** Prepares the check of a planned link against the limits for an asker, for the host of an asker, for a target, and for all codes. */
function createRefusalFinder(
  { db, channels }: Pick<StoreContext, 'db' | 'channels'>,
  people: PersonTable,
  digests: KeyedDigests,
): (plannedLink: PlannedLink, now: number) => Operation<LinkRefusal | undefined> {
  const prepareCount = (column: 'asker' | 'asker_host' | 'sent_to') => {
    const query = db.prepare<{ n: number }>(`SELECT count(*) AS n FROM link_codes WHERE ${column} = ? AND asked_at > ?`)
    return function* (value: string, cutoff: number) {
      let count = 0
      for (const name of digests.withDigests([value])) count += (yield* query.get(name, cutoff))?.n ?? 0
      return count
    }
  }
  const countAll = db.prepare<{ n: number }>('SELECT count(*) AS n FROM link_codes WHERE asked_at > ?')
  const [countByAsker, countByHost, countByTarget] = [
    prepareCount('asker'),
    prepareCount('asker_host'),
    prepareCount('sent_to'),
  ]
  return function* ({ agent, from, to, host }, now) {
    const keys = yield* people.findKeys(agent, from)
    if (keys.includes(to)) return 'linked'
    if (new Set([...keys, ...(yield* people.findKeys(agent, to))]).size > linkLimits.maxAddresses) return 'full'
    if ((yield* countByAsker(from, now - hourMs)) >= linkLimits.requestsPerHour) return 'asked_too_often'
    if (((yield* countAll.get(now - dayMs))?.n ?? 0) >= linkLimits.codesPerDay) return 'asked_too_often'
    if ((yield* countByHost(host, now - dayMs)) >= linkLimits.requestsPerHostPerDay) return 'asked_too_often'
    return (yield* countByTarget(removeTag(to, channels), now - dayMs)) >= linkLimits.codesPerTargetPerDay
      ? 'sent_too_often'
      : undefined
  }
}

/** Removes the tag of an address, because one mailbox may have any number of tags. */
function removeTag(key: string, { isMailbox }: Pick<ChannelFacts, 'isMailbox'>): string {
  const { via } = readPersonKey(key)
  return isMailbox(via) ? key.replace(/^([^ ]+ @[^+@]+)\+[^@]*/, '$1') : key
}
