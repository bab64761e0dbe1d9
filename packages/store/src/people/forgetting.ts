import type { Forgetting, Forgotten, PeopleStore, PersonAddress } from '@postern/core'
import type { ChannelFacts } from '../channels/facts.ts'
import type { Batch, Sql } from '../engine/database.ts'
import { readAfterWait } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { RemoveMessage } from '../forgetting/remove-message.ts'
import type { ForgetChats } from './chats.ts'
import type { LinkCodeTable } from './link-codes.ts'
import type { EndLinks } from './link-ending.ts'
import type { PersonTable } from './table.ts'
import { formatPersonKey, readPersonKey } from './table.ts'
import { createThreadRemoval, sliceSize } from './threads.ts'
import type { RestDeps } from './traces.ts'
import { createRestRemoval } from './traces.ts'

interface ForgettingDeps {
  readonly people: PersonTable
  readonly codes: LinkCodeTable
  readonly endLinks: EndLinks
  readonly removeMessage: RemoveMessage
  readonly tables: RestDeps
  readonly forgetChats: ForgetChats
}

/** Whose words, as the statements take it. */
interface Whose {
  readonly agent: string | null
  /** `via @local@domain`, where the address is all there is to know them by. */
  readonly addresses: readonly string[]
  /** Principals. */
  readonly subjects: readonly string[]
}

/** Prepared when somebody is forgotten: its statements read whole tables, which nothing else may. An index for something so rare would cost every message. */
export function createPersonForgetting(context: StoreContext, parts: ForgettingDeps): PeopleStore['forgetPerson'] {
  let opened: PeopleStore['forgetPerson'] | undefined
  return async forgetting => {
    opened ??= openForgetting(context, parts)
    return opened(forgetting)
  }
}

function openForgetting(
  context: StoreContext,
  { people, codes, endLinks: endLinksOf, removeMessage, tables, forgetChats }: ForgettingDeps,
): PeopleStore['forgetPerson'] {
  const { db, write, now } = context
  const links = createLinkForgetting(db, people, endLinksOf)
  const endMessages = createWordRemoval(context, removeMessage)
  const endThreads = createThreadRemoval(context)
  const listChats = createChatFinder(context)
  const endRest = createRestRemoval(context, tables)

  return async ({ agent, addresses, except = 0 }): Promise<Forgotten> => {
    const { persons, keys, all } = links.find({ agent, addresses })
    const whose = nameAll(agent, all, context.channels)
    const { messages, threads, authors } = await endMessages(whose, except)
    const chats = new Set([
      ...(await listChats(threads)),
      ...whose.subjects.filter(subject => subject.startsWith('web:')),
    ])
    for (const owner of chats) await forgetChats(owner, agent)
    await endThreads([...threads], except)
    const subjects = [...new Set([...whose.subjects, ...authors])]
    // Last: cut off before, it is done again for all of their addresses.
    const ended = await write(batch => {
      codes.forget(batch, agent, keys, now())
      const relations = endRest(batch, { agent: whose.agent, subjects, keys })
      return { links: links.end(batch, persons, now()), relations }
    })
    context.scrub()
    return { messages, ...ended }
  }
}

interface RemovedWords {
  readonly messages: number
  readonly threads: ReadonlySet<number>
  /** Principals whose words they were. */
  readonly authors: ReadonlySet<string>
}

function createWordRemoval({ db, write, now }: StoreContext, removeMessage: RemoveMessage) {
  const listMessages = createMessageFinder(db)
  const findNewest = db.prepare<{ number: number | null }>('SELECT max(seq) AS number FROM messages')

  return async (whose: Whose, except: number): Promise<RemovedWords> => {
    const threads = new Set<number>()
    const authors = new Set<string>()
    const removeOne = (batch: Batch, message: number) => {
      const thread = removeMessage(batch, message, now())
      if (thread !== undefined) threads.add(thread)
    }
    const removeSlice = (batch: Batch, after: number) => {
      const found = listMessages(whose, after, after + sliceSize)
      for (const { principal } of found) if (principal !== null) authors.add(principal)
      const rest = found.filter(({ seq }) => seq !== except)
      for (const { seq } of rest) removeOne(batch, seq)
      return rest.length
    }
    let messages = 0
    const last = findNewest.get()?.number ?? 0
    for (let after = 0; after < last; after += sliceSize) messages += await write(batch => removeSlice(batch, after))
    return { messages, threads, authors }
  }
}

/** Whose chats these are. */
function createChatFinder({
  db,
  channels,
}: StoreContext): (threads: ReadonlySet<number>) => Promise<readonly string[]> {
  const find = db.prepare<{ scope: string }>(
    `SELECT scope FROM threads WHERE id = ? AND ${channels.sql.isChat('channel')}`,
  )
  return async threads => readAfterWait(db, () => [...threads].flatMap(thread => find.get(thread)?.scope ?? []))
}

/**
 * An account of the fediverse is known by its actor, where that is known: its name may have been another's before. Who chats has one address
 * and one principal for ever: in their chats they are known by the one, elsewhere by the other.
 */
function nameAll(agent: string | undefined, all: readonly PersonAddress[], { chats, isMailbox }: ChannelFacts): Whose {
  const known = all.filter(({ via, subject }) => !isMailbox(via) && subject !== undefined)
  const byAddress = all.filter(each => !known.includes(each) || chats.includes(each.via))
  return {
    agent: agent ?? null,
    addresses: byAddress.map(formatPersonKey),
    subjects: known.flatMap(({ subject }) => subject ?? []),
  }
}

interface LinkedPerson {
  readonly agent: string
  readonly keys: readonly string[]
}

interface FoundPersons {
  readonly persons: readonly LinkedPerson[]
  /** All addresses of them, as keys. */
  readonly keys: readonly string[]
  readonly all: readonly PersonAddress[]
}

/** Every link of the whole person, with every agent concerned. */
function createLinkForgetting(db: Sql, people: PersonTable, endLinks: EndLinks) {
  const findAgents = db.prepare<{ agent: string }>('SELECT agent FROM person_links WHERE asker = ?1 OR target = ?1')
  /** None where somebody else has that address now. */
  function listPerson(agent: string, address: PersonAddress): readonly PersonAddress[] {
    const key = formatPersonKey(address)
    const known = people.findSubject(agent, key)?.subject
    if (address.subject !== undefined && typeof known === 'string' && known !== address.subject) return []
    return people.findKeys(agent, key).map(each => readPersonKey(each, people.findSubject(agent, each)?.subject))
  }

  function endPerson(batch: Batch, { agent, keys }: LinkedPerson, now: number): number {
    // More may have been linked with them since they were found.
    const linked = new Set(keys.flatMap(key => people.findKeys(agent, key)))
    for (const each of linked) people.endState(agent, each)
    const ended = keys.reduce((sum, key) => sum + endLinks(batch, { agent, key }, now), 0)
    people.dropUnlinked(agent, [...linked])
    return ended
  }

  return {
    find({ agent, addresses }: Pick<Forgetting, 'agent' | 'addresses'>): FoundPersons {
      const all = new Map(addresses.map(each => [formatPersonKey(each), each]))
      const persons: LinkedPerson[] = []
      for (const address of addresses) {
        const named = agent === undefined ? findAgents.all(formatPersonKey(address)).map(row => row.agent) : [agent]
        for (const each of new Set(named)) {
          const person = listPerson(each, address)
          for (const known of person) all.set(formatPersonKey(known), { ...known, ...all.get(formatPersonKey(known)) })
          persons.push({ agent: each, keys: person.map(formatPersonKey) })
        }
      }
      return { persons, keys: [...all.keys()], all: [...all.values()] }
    },
    end: (batch: Batch, persons: readonly LinkedPerson[], now: number): number =>
      persons.reduce((sum, person) => sum + endPerson(batch, person, now), 0),
  }
}

/** By their author's principal, or by the address they came from. There is no index: it is looked for in slices. */
function createMessageFinder(db: Sql) {
  const find = db.prepare<{ seq: number; principal: string | null }>(
    `SELECT seq, principal FROM messages WHERE kind = 'message' AND seq > ?1 AND seq <= ?2 AND (?3 IS NULL OR agent = ?3)
       AND (principal IN (SELECT value FROM json_each(?4))
         OR channel || ' ' || lower(json_extract(envelope, '$.sender.address')) IN (SELECT value FROM json_each(?5)))`,
  )
  return ({ agent, addresses, subjects }: Whose, after: number, until: number) =>
    find.all(after, until, agent, JSON.stringify(subjects), JSON.stringify(addresses))
}
