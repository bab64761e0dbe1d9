import type { Store } from '@postern/core'

/** The moment that a replay looks from. */
interface PastMoment {
  /** The number of the message that is replayed: later ones were not there. */
  readonly message: number
  /** When it came, ms. */
  readonly at: number
}

/** Members that only read, by the words of our ports. */
const reads = /^(find|read|list|count|has|knows)/
/** What they write nobody misses when it is not written. */
const ignored: ReadonlySet<keyof Store> = new Set([
  'refuse',
  'noteLookup',
  'note',
  'say',
  'addBackground',
  'keepFiles',
  'keepStreamed',
  'noteWaiting',
  'renew',
  'notify',
])

/**
 * The store as it was, as far as it keeps that: what came later is left out. It writes nothing. What would change something for good throws, so that
 * no answer is taken for one that could be given.
 */
export function createPastStore(store: Store, moment: PastMoment): Store {
  const members = Object.entries(store).map(([name, member]) => [name, treat(name as keyof Store, member)] as const)
  return { ...(Object.fromEntries(members) as unknown as Store), ...createBounded(store, moment) }
}

function treat(name: keyof Store, member: unknown): unknown {
  if (typeof member !== 'function' || reads.test(name)) return member
  if (ignored.has(name)) return async () => undefined
  return async () => {
    throw new Error(`a replay changes nothing ("${name}")`)
  }
}

function createBounded(store: Store, { message, at }: PastMoment): Partial<Store> {
  return {
    listen: () => () => {},
    consumeOnce: async () => true,
    secret: async (name, make) => ((await store.hasSecret(name)) ? store.secret(name, make) : make()),
    // What the message itself began was not there before it.
    async findRelation(key) {
      const found = await store.findRelation(key)
      return found && found.since < at ? found : undefined
    },
    listRelations: async filter => (await store.listRelations(filter)).filter(({ since }) => since < at),
    async findMessageTo(agent, id) {
      const found = await store.findMessageTo(agent, id)
      return found && found.message < message ? found : undefined
    },
    async findResponse(id) {
      const found = await store.findResponse(id)
      return found && Date.parse(found.response.created_at) <= at ? found : undefined
    },
    findAnswer: async () => undefined,
  }
}
