import type { Json, PeopleStore, PersonLink } from '@postern/core'
import { parseJsonText } from '@postern/core'
import type { Batch, Sql } from '../engine/database.ts'
import { readAfterWait } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { RemoveMessageDeps } from '../forgetting/remove-message.ts'
import { createRemoveMessage } from '../forgetting/remove-message.ts'
import type { ChatPlaces } from './chats.ts'
import { createChatterForgetting } from './chats.ts'
import { createOwnThreadStore } from './conversations.ts'
import { createPersonForgetting } from './forgetting.ts'
import { createPersonHistory } from './history.ts'
import { createLinkCodeTable } from './link-codes.ts'
import type { EndLinks } from './link-ending.ts'
import { createLinkEnding } from './link-ending.ts'
import { createNoticeRemoval } from './notice-removal.ts'
import type { PersonTable } from './table.ts'
import { createPersonTable, formatPersonKey, readPersonKey } from './table.ts'
import type { RestDeps } from './traces.ts'

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
  tables: RemoveMessageDeps & RestDeps,
  chats: ChatPlaces,
): PeopleStore {
  const { db, write, now } = context
  const people = createPersonTable(db, context)
  const removeMessage = createRemoveMessage(db, tables)
  const removeNotice = createNoticeRemoval(db, removeMessage)
  const endLinks = createLinkEnding(context, { removeNotice, removeMessage })
  const codes = createLinkCodeTable(context, people, { removeNotice, endLinks })

  return {
    async findPerson(agent, identity) {
      const key = formatPersonKey(identity)
      const known = people.findSubject(agent, key)
      if (!known || (known.subject !== null && known.subject !== identity.subject)) return undefined
      // Who speaks from it first after it was linked is who it belongs to.
      if (known.subject === null) {
        await write(() => {
          people.know(agent, key, identity.subject)
          // Its link may have ended meanwhile.
          people.dropUnlinked(agent, [key])
        })
      }
      return readAfterWait(db, () => people.find(agent, key))
    },
    requestLink: request => write(batch => codes.request(batch, request, now())),
    confirmLink: confirmation => write(batch => codes.confirm(batch, confirmation, now())),
    ...createUnlinking(context, people, endLinks),
    ...createPeopleReader(db),
    readPersonHistory: createPersonHistory(context),
    ...createOwnThreadStore(context),
    forgetPerson: createPersonForgetting(context, {
      ...{ people, codes, endLinks, removeMessage, tables },
      forgetChats: createChatterForgetting(context, chats),
    }),
  }
}

function createUnlinking(
  { db, write, now }: Pick<StoreContext, 'db' | 'write' | 'now'>,
  people: PersonTable,
  endLinks: EndLinks,
): Pick<PeopleStore, 'unlink' | 'unlinkAll'> {
  const listOf = db.prepare<{ agent: string; address: string }>(
    'SELECT agent, address FROM person_addresses WHERE subject = ?',
  )

  /** Nobody can tell any more who brought in what of the state that was shared. */
  function endAll(batch: Batch, agent: string, key: string): number {
    const keys = people.findKeys(agent, key)
    for (const each of keys) people.endState(agent, each)
    const ended = endLinks(batch, { agent, key }, now())
    people.dropUnlinked(agent, keys)
    return ended
  }

  return {
    unlink: (agent, identity, other) =>
      write(batch => {
        const [own, key] = [formatPersonKey(identity), formatPersonKey(other)]
        const known = people.findSubject(agent, own)
        if (own === key || known?.subject !== identity.subject) return false
        if (!people.findKeys(agent, own).includes(key)) return false
        endAll(batch, agent, key)
        return true
      }),
    unlinkAll: subject =>
      write(batch => listOf.all(subject).reduce((sum, { agent, address }) => sum + endAll(batch, agent, address), 0)),
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
    listLinks: async ({ agent, limit, after = 0 }) => list.all(after, agent ?? null, limit).map(readLink),
    async readPersonState(agent, person) {
      const row = findState.get(agent, person)
      return row && (parseJsonText(row.state) as Json)
    },
    async readThreadScope(thread) {
      return findScope.get(thread)?.scope ?? ''
    },
  }
}

function readLink({ id: place, asker, target, ...row }: LinkRow): PersonLink {
  return { ...row, place, asker: readPersonKey(asker), target: readPersonKey(target) }
}
