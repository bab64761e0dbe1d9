// Assembles the queries and actions for people.
import type { Json } from '@postern/message'
import { parseJsonText } from '@postern/message'
import type { LinkNotifications, PeopleStore, PersonLink } from '@postern/pipeline'
import type { RemoveMessageDeps } from '../forgetting/remove-message.ts'
import { createRemoveMessage } from '../forgetting/remove-message.ts'
import type { AdmitNewMessage } from '../messages/refusals.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { ChatStores } from './forget-chat-user.ts'
import { createChatUserForgetter } from './forget-chat-user.ts'
import { createPersonForgetter } from './forget-person.ts'
import { createLinkCodeTable } from './link-codes.ts'
import type { DeleteLinks } from './link-removal.ts'
import { createLinkRemoval } from './link-removal.ts'
import type { QueueLinkNotice } from './linked-events.ts'
import { createLinkNotifier } from './linked-events.ts'
import { createNoticeRemoval } from './notice-removal.ts'
import { createOwnThreadStore } from './own-threads.ts'
import { createPersonHistory } from './person-history.ts'
import { createPersonMessageReader } from './person-messages.ts'
import type { PersonTable } from './person-table.ts'
import { createPersonTable, formatPersonKey, readPersonKey } from './person-table.ts'
import type { TraceRemovalDeps } from './remove-traces.ts'

interface LinkRow {
  readonly id: number
  readonly agent: string
  readonly asker: string
  readonly target: string
  readonly asked: number
  readonly confirmed: number
  readonly since: number
}

export function createPeopleStore(
  context: StoreContext,
  tables: RemoveMessageDeps & TraceRemovalDeps,
  { admitNewMessage, ...chats }: ChatStores & { readonly admitNewMessage: AdmitNewMessage },
): PeopleStore {
  const { db, write, now } = context
  const people = createPersonTable(db, context)
  const removeMessage = createRemoveMessage(db, tables)
  const removeNotice = createNoticeRemoval(db, removeMessage)
  const deleteLinks = createLinkRemoval(context, { removeNotice, removeMessage })
  const queueEvent = createLinkNotifier(admitNewMessage)
  const codes = createLinkCodeTable(context, people, { removeNotice, deleteLinks, queueEvent })

  return {
    async findPerson(agent, identity) {
      const key = formatPersonKey(identity)
      const storedAddress = await db.read(() => people.findSubject(agent, key))
      if (!storedAddress || (storedAddress.subject !== null && storedAddress.subject !== identity.subject))
        return undefined
      // The first person who writes from a linked address becomes its owner.
      if (storedAddress.subject === null) {
        await write(() => {
          people.storeAddress(agent, key, identity.subject)
          // The link of the address may have ended in the meantime.
          people.dropUnlinked(agent, [key])
        })
      }
      return db.read(() => people.find(agent, key))
    },
    requestLink: request => write(batch => codes.request(batch, request, now())),
    confirmLink: confirmation => write(batch => codes.confirm(batch, confirmation, now())),
    ...createUnlink(context, people, { endLinks: deleteLinks, queueEvent }),
    ...createPeopleReader(db),
    ...createPersonMessageReader(context, people),
    readPersonHistory: createPersonHistory(context),
    ...createOwnThreadStore(context),
    forgetPerson: createPersonForgetter(context, {
      ...{ people, codes, deleteLinks, removeMessage, tables },
      forgetChats: createChatUserForgetter(context, chats),
    }),
  }
}

function createUnlink(
  { db, write, now }: Pick<StoreContext, 'db' | 'write' | 'now'>,
  people: PersonTable,
  { endLinks: deleteLinks, queueEvent }: { readonly endLinks: DeleteLinks; readonly queueEvent: QueueLinkNotice },
): Pick<PeopleStore, 'unlink' | 'unlinkAll'> {
  const listAddresses = db.prepare<{ agent: string; address: string }>(
    'SELECT agent, address FROM person_addresses WHERE subject = ?',
  )

  /** Deletes all links of an address, with the shared state of all linked addresses. The state cannot be divided among the addresses. */
  function* deleteAllLinks(batch: Batch, agent: string, key: string, events?: LinkNotifications): Operation<number> {
    const personsBefore = yield* people.describeAll(agent, [key])
    const addresses = personsBefore.flatMap(person => person.addresses)
    const keys = addresses.map(formatPersonKey)
    for (const linkedKey of keys) people.deleteState(agent, linkedKey)
    const deletedLinks = yield* deleteLinks(batch, { agent, key }, now())
    people.dropUnlinked(agent, keys)
    if (events) {
      const subjects = new Map(
        addresses.flatMap(address => (address.subject ? [[formatPersonKey(address), address.subject]] : [])),
      )
      yield* queueEvent(
        batch,
        { kind: 'unlink', personsBefore, personsAfter: yield* people.describeAll(agent, keys, subjects) },
        events,
      )
    }
    return deletedLinks
  }

  return {
    unlink: ({ agent, identity, other, events }) =>
      write(function* (batch) {
        const [ownKey, key] = [formatPersonKey(identity), formatPersonKey(other)]
        const storedAddress = yield* people.findSubject(agent, ownKey)
        if (ownKey === key || storedAddress?.subject !== identity.subject) return false
        if (!(yield* people.findKeys(agent, ownKey)).includes(key)) return false
        yield* deleteAllLinks(batch, agent, key, events)
        return true
      }),
    unlinkAll: subject =>
      write(function* (batch) {
        let deletedLinks = 0
        for (const { agent, address } of yield* listAddresses.all(subject))
          deletedLinks += yield* deleteAllLinks(batch, agent, address)
        return deletedLinks
      }),
  }
}

function createPeopleReader(db: Sql): Pick<PeopleStore, 'listLinks' | 'readPersonState' | 'readThreadScope'> {
  const list = db.prepare<LinkRow>(
    `SELECT id, agent, asker, target, asked_in AS asked, confirmed_in AS confirmed, since FROM person_links
     WHERE id > ?1 AND (?2 IS NULL OR agent = ?2) ORDER BY id LIMIT +?3`,
  )
  const findScope = db.prepare<{ scope: string }>('SELECT scope FROM threads WHERE id = ?')
  const findState = db.prepare<{ state: string }>('SELECT state FROM person_states WHERE agent = ? AND person = ?')
  return {
    listLinks: ({ agent, limit, after = 0 }) =>
      db.read(function* () {
        return (yield* list.all(after, agent ?? null, limit)).map(readLink)
      }),
    readPersonState(agent, person) {
      return db.read(function* () {
        const row = yield* findState.get(agent, person)
        return row && (parseJsonText(row.state) as Json)
      })
    },
    readThreadScope(thread) {
      return db.read(function* () {
        return (yield* findScope.get(thread))?.scope ?? ''
      })
    },
  }
}

function readLink({ id: position, asker, target, ...row }: LinkRow): PersonLink {
  return { ...row, number: position, asker: readPersonKey(asker), target: readPersonKey(target) }
}
