// Deletes everything that the store has about a person.
import type { UnreachableObject } from '@postern/message'
import type { ForgetPersonRequest, ForgetPersonResult, PeopleStore, PersonAddress } from '@postern/pipeline'
import type { ChannelFacts } from '../channels/channel-facts.ts'
import { createKeyedDigests } from '../digests/keyed-digest.ts'
import type { RemoveMessage } from '../forgetting/remove-message.ts'
import { maxRemovals } from '../messages/row-removal.ts'
import type { Operation } from '../sql/operation.ts'
import { flatMapInOrder, mapInOrder } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { ForgetChats } from './forget-chat-user.ts'
import type { LinkCodeTable } from './link-codes.ts'
import type { DeleteLinks } from './link-removal.ts'
import type { PersonTable } from './person-table.ts'
import { formatPersonKey, readPersonKey } from './person-table.ts'
import { createUnusedThreadRemoval, sliceSize } from './remove-threads.ts'
import type { TraceRemovalDeps } from './remove-traces.ts'
import { createTraceRemoval } from './remove-traces.ts'

interface ForgettingDeps {
  readonly people: PersonTable
  readonly codes: LinkCodeTable
  readonly deleteLinks: DeleteLinks
  readonly removeMessage: RemoveMessage
  readonly tables: TraceRemovalDeps
  readonly forgetChats: ForgetChats
}

/** The names of a person in the form that the statements need. */
interface PersonFilter {
  readonly agent: string | null
  /** Addresses as `via @local@domain`, for channels where the address is the only identification. */
  readonly addresses: readonly string[]
  /** The principals of the person. */
  readonly subjects: readonly string[]
}

/**
 * Creates the function that forgets people. Its statements read whole tables and are prepared at the first call. An index for such a rare operation
 * would slow down every message.
 */
export function createPersonForgetter(context: StoreContext, deps: ForgettingDeps): PeopleStore['forgetPerson'] {
  let preparedForget: PeopleStore['forgetPerson'] | undefined
  return async forgetting => {
    preparedForget ??= preparePersonForgetter(context, deps)
    return preparedForget(forgetting)
  }
}

function preparePersonForgetter(
  context: StoreContext,
  { people, codes, deleteLinks, removeMessage, tables, forgetChats }: ForgettingDeps,
): PeopleStore['forgetPerson'] {
  const { db, write, now } = context
  const links = createLinkForgetter(db, people, deleteLinks)
  const deleteMessages = createOwnMessageRemoval(context, removeMessage)
  const deleteThreads = createUnusedThreadRemoval(context)
  const listChats = createChatFinder(context)
  const digests = createKeyedDigests(context)
  const deleteTraces = createTraceRemoval(context, tables, digests)

  async function forgetOwnedChats(chats: ReadonlySet<string>, { agent, leavesFiles = false }: ForgetPersonRequest) {
    const counts = { attachments: 0, others: 0 }
    const unreachable: UnreachableObject[] = []
    for (const owner of chats) {
      const {
        removed: removedFiles,
        removedCount,
        unreachable: unreachableFiles,
      } = await forgetChats(owner, { agent, leavesFiles })
      counts.attachments += removedFiles
      counts.others += removedCount
      unreachable.push(...unreachableFiles)
    }
    return { ...counts, unreachable }
  }

  return async (forgetting): Promise<ForgetPersonResult> => {
    const { agent, addresses, exceptMessage = 0, isOwn = exceptMessage > 0 } = forgetting
    const { persons, keys, addresses: personAddresses } = await context.db.read(() => links.find({ agent, addresses }))
    const personFilter = createPersonFilter(agent, personAddresses, context.channels)
    const { messages, threads, authors } = await deleteMessages(personFilter, exceptMessage)
    const chats = new Set([
      ...(await listChats(threads)),
      ...personFilter.subjects.filter(subject => subject.startsWith('web:')),
    ])
    const { attachments, others: otherCount, unreachable } = await forgetOwnedChats(chats, forgetting)
    await deleteThreads([...threads], exceptMessage)
    const subjects = [...new Set([...personFilter.subjects, ...authors])]
    // The links are deleted last, so that a repeated call after an interruption still finds all addresses of the person.
    const deletions = await write(function* (batch) {
      const deletedCodes = yield* codes.forget(batch, { agent, keys, isOwn }, now())
      const { relations, traces } = yield* deleteTraces(batch, { agent: personFilter.agent, subjects, keys, isOwn })
      return {
        links: yield* links.deleteLinks(batch, persons, now()),
        relations,
        traces: traces + deletedCodes + otherCount,
      }
    })
    context.scrub()
    return { messages, attachments, ...deletions, unreachable }
  }
}

interface MessageRemovalResult {
  readonly messages: number
  readonly threads: ReadonlySet<number>
  /** The principals of the authors. */
  readonly authors: ReadonlySet<string>
}

interface MessageSlice {
  readonly rows: readonly { readonly seq: number; readonly principal: string | null }[]
  /** The number of the last message that the slice covers. */
  readonly upTo: number
}

interface RemovedSlice extends MessageSlice {
  /** The thread of each deleted message. */
  readonly removedThreads: readonly (number | undefined)[]
}

function createOwnMessageRemoval({ db, write, now }: StoreContext, removeMessage: RemoveMessage) {
  const listMessages = createPersonMessageList(db)
  const findNewest = db.prepare<{ number: number | null }>('SELECT max(seq) AS number FROM messages')

  return async (personFilter: PersonFilter, exceptMessage: number): Promise<MessageRemovalResult> => {
    function* removeSlice(batch: Batch, after: number): Operation<RemovedSlice> {
      const { rows, upTo } = yield* listMessages(personFilter, after)
      const ownMessages = rows.filter(({ seq }) => seq !== exceptMessage)
      return {
        rows,
        upTo,
        removedThreads: yield* mapInOrder(ownMessages, ({ seq }) => removeMessage(batch, seq, now())),
      }
    }
    const lastNumber = (await db.read(() => findNewest.get()))?.number ?? 0
    const slices: RemovedSlice[] = []
    for (let after = 0; after < lastNumber; ) {
      const sliceStart = after
      const slice = await write(batch => removeSlice(batch, sliceStart))
      slices.push(slice)
      after = slice.upTo
    }
    const removedThreads = slices.flatMap(slice => slice.removedThreads)
    const principals = slices.flatMap(({ rows }) => rows.map(({ principal }) => principal))
    return {
      messages: removedThreads.length,
      threads: new Set(removedThreads.filter(thread => thread !== undefined)),
      authors: new Set(principals.filter(principal => principal !== null)),
    }
  }
}

/** Prepares the search for the owners of the chats among these threads. */
function createChatFinder({
  db,
  channels,
}: StoreContext): (threads: ReadonlySet<number>) => Promise<readonly string[]> {
  const find = db.prepare<{ scope: string }>(
    `SELECT scope FROM threads WHERE id = ? AND ${channels.sql.chatCondition('channel')}`,
  )
  return async threads =>
    db.read(() =>
      flatMapInOrder([...threads], function* (thread) {
        return (yield* find.get(thread))?.scope ?? []
      }),
    )
}

/**
 * Builds the filter that finds a person in all tables. An account of the fediverse is identified by its actor if the actor is known, because its
 * address may have belonged to another account before. A chat user never changes their address or principal, so the filter has both of them.
 */
export function createPersonFilter(
  agent: string | undefined,
  personAddresses: readonly PersonAddress[],
  { chats, isMailbox }: ChannelFacts,
): PersonFilter {
  const provenAddresses = personAddresses.filter(({ via, subject }) => !isMailbox(via) && subject !== undefined)
  const byAddress = personAddresses.filter(address => !provenAddresses.includes(address) || chats.includes(address.via))
  return {
    agent: agent ?? null,
    addresses: byAddress.map(formatPersonKey),
    subjects: provenAddresses.flatMap(({ subject }) => subject ?? []),
  }
}

interface LinkedPerson {
  readonly agent: string
  readonly keys: readonly string[]
}

interface PersonSearchResult {
  readonly persons: readonly LinkedPerson[]
  /** The keys of all addresses of the person. */
  readonly keys: readonly string[]
  readonly addresses: readonly PersonAddress[]
}

/** Creates the deletion of all links of a person, with the requested agent or with all agents. */
function createLinkForgetter(db: Sql, people: PersonTable, deleteLinks: DeleteLinks) {
  const findAgents = db.prepare<{ agent: string }>('SELECT agent FROM person_links WHERE asker = ?1 OR target = ?1')
  /** Lists the linked addresses of the person. The list is empty if the address belongs to somebody else by now. */
  function* listPerson(agent: string, address: PersonAddress): Operation<readonly PersonAddress[]> {
    const key = formatPersonKey(address)
    const subject = (yield* people.findSubject(agent, key))?.subject
    if (address.subject !== undefined && typeof subject === 'string' && subject !== address.subject) return []
    return yield* mapInOrder(yield* people.findKeys(agent, key), function* (linkedKey) {
      return readPersonKey(linkedKey, (yield* people.findSubject(agent, linkedKey))?.subject)
    })
  }

  function* deletePerson(batch: Batch, { agent, keys }: LinkedPerson, now: number): Operation<number> {
    // The person may have linked further addresses since the search.
    const linkedKeys = new Set(yield* flatMapInOrder(keys, key => people.findKeys(agent, key)))
    for (const linkedKey of linkedKeys) people.deleteState(agent, linkedKey)
    let deletedLinks = 0
    for (const key of keys) deletedLinks += yield* deleteLinks(batch, { agent, key }, now)
    people.dropUnlinked(agent, [...linkedKeys])
    return deletedLinks
  }

  return {
    *find({ agent, addresses }: Pick<ForgetPersonRequest, 'agent' | 'addresses'>): Operation<PersonSearchResult> {
      const addressesByKey = new Map(addresses.map(address => [formatPersonKey(address), address]))
      const persons: LinkedPerson[] = []
      for (const address of addresses) {
        const agents =
          agent === undefined ? (yield* findAgents.all(formatPersonKey(address))).map(row => row.agent) : [agent]
        for (const concernedAgent of new Set(agents)) {
          const person = yield* listPerson(concernedAgent, address)
          for (const personAddress of person)
            addressesByKey.set(formatPersonKey(personAddress), {
              ...personAddress,
              ...addressesByKey.get(formatPersonKey(personAddress)),
            })
          persons.push({ agent: concernedAgent, keys: person.map(formatPersonKey) })
        }
      }
      return { persons, keys: [...addressesByKey.keys()], addresses: [...addressesByKey.values()] }
    },
    *deleteLinks(batch: Batch, persons: readonly LinkedPerson[], now: number): Operation<number> {
      let deletedLinks = 0
      for (const person of persons) deletedLinks += yield* deletePerson(batch, person, now)
      return deletedLinks
    },
  }
}

/**
 * Prepares the search for messages by the author's principal or by the sender's address. The search has no index, so it reads the messages in slices.
 */
function createPersonMessageList(db: Sql) {
  const find = db.prepare<{ seq: number; principal: string | null }>(
    `SELECT seq, principal FROM messages WHERE kind = 'message' AND seq > ?1 AND seq <= ?2 AND (?3 IS NULL OR agent = ?3)
       AND (principal IN (SELECT value FROM json_each(?4))
         OR channel || ' ' || lower(json_extract(envelope, '$.sender.address')) IN (SELECT value FROM json_each(?5))) ORDER BY seq LIMIT ${maxRemovals}`,
  )
  return function* ({ agent, addresses, subjects }: PersonFilter, after: number): Operation<MessageSlice> {
    const upTo = after + sliceSize
    const rows = yield* find.all(after, upTo, agent, JSON.stringify(subjects), JSON.stringify(addresses))
    return { rows, upTo: rows.length < maxRemovals ? upTo : (rows.at(-1)?.seq ?? upTo) }
  }
}
