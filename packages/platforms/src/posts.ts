// Remembers where answers were posted, in the store's small records.
import { isJsonObject } from '@postern/message'
import type { RecordStore } from '@postern/transcript'

/** One post of an answer. An answer that is too long for one post has several. */
export interface StoredPost {
  /** The platform's id. */
  readonly id: string
  /** The adapter's thread in which it stands. */
  readonly thread: string
}

/** The answer to which a post belongs, and its conversation. */
export interface PostOwner {
  readonly response: string
  readonly agent: string
  readonly conversation: string
  readonly scope: string
}

interface NewPost extends StoredPost {
  readonly owner: PostOwner
  /** The number of the post in its answer, from 0. */
  readonly index: number
  /** The platform's id in the form of events. */
  readonly object: string
}

/** The posts of all answers on one platform. */
export interface Posts {
  /** Lists the posts of an answer by their numbers. */
  list(response: string): Promise<ReadonlyMap<number, StoredPost>>
  remember(post: NewPost): Promise<void>
  /** Forgets one post of an answer. */
  remove(response: string, index: number): Promise<void>
  /** Finds the answer to which a post belongs. */
  findOwner(object: string): Promise<PostOwner | undefined>
  /** Returns true if an agent has answered in the thread. */
  hasAnswered(thread: string): Promise<boolean>
}

/** The time after which a post can no longer be edited here, and a silent thread is no longer answered, ms. */
const memoryMs = 365 * 86_400_000
const maxPosts = 1_000

export function createPosts(platform: string, records: RecordStore, now: () => number): Posts {
  const objectKey = (object: string) => ({ kind: 'platform-object', owner: platform, key: object })
  const threadKey = (thread: string) => ({ kind: 'platform-thread', owner: platform, key: thread })
  const postKey = (response: string, index: number) => ({ ...listKey(response), key: String(index) })
  const listKey = (response: string) => ({ kind: 'platform-post', owner: `${platform} ${response}` })
  return {
    async list(response) {
      const { kind, owner } = listKey(response)
      const stored = await records.list(kind, owner, { limit: maxPosts })
      return new Map(stored.map(({ key, value }) => [Number(key), value as unknown as StoredPost]))
    },
    async remember({ id, thread, owner, index, object }) {
      const ties = { expiresAt: now() + memoryMs }
      await records.insert(postKey(owner.response, index), { id, thread }, ties)
      await records.insert(objectKey(object), { ...owner }, ties)
      await records.insert(threadKey(thread), { agent: owner.agent }, ties)
    },
    remove: (response, index) => records.remove(postKey(response, index)),
    async findOwner(object) {
      const value = (await records.get(objectKey(object)))?.value
      return isJsonObject(value) ? (value as unknown as PostOwner) : undefined
    },
    hasAnswered: async thread => (await records.get(threadKey(thread))) !== undefined,
  }
}
