// Posts, edits and deletes answers on a platform.
import { Undeliverable } from '@postern/message'
import type { TransmitResult } from '@postern/pipeline'
import type { OpenedPlatform } from './platform.ts'
import type { Posts, StoredPost } from './posts.ts'
import type { RenderedPosts } from './render.ts'

interface DeliverDeps {
  readonly opened: Pick<OpenedPlatform, 'adapter' | 'connect' | 'classify' | 'nameObject'>
  readonly posts: Posts
}

/**
 * Brings the posts of an answer into the rendered form. Each post is remembered as soon as the platform has it, so a repeated attempt goes on where
 * the last one ended.
 * @throws Unavailable, Undeliverable
 */
export async function deliverPosts(rendered: RenderedPosts, deps: DeliverDeps): Promise<TransmitResult> {
  const { opened, posts } = deps
  try {
    await opened.connect()
    const earlierPosts = await posts.list(rendered.response)
    if (rendered.revision !== undefined && earlierPosts.size === 0) {
      throw new Undeliverable('Cannot change the answer: the gateway does not know where it was posted')
    }
    await writeTexts(rendered, earlierPosts, deps)
    await deleteSurplus(rendered, earlierPosts, deps)
    return { note: describeResult(rendered) }
  } catch (error) {
    throw opened.classify(error)
  }
}

async function writeTexts(
  rendered: RenderedPosts,
  earlierPosts: ReadonlyMap<number, StoredPost>,
  { opened, posts }: DeliverDeps,
): Promise<void> {
  const { response, agent, conversation, scope, texts, revision } = rendered
  const { adapter } = opened
  let thread = earlierPosts.get(0)?.thread
  for (const [index, text] of texts.entries()) {
    const earlierPost = earlierPosts.get(index)
    if (earlierPost && revision === 'edit') {
      await adapter.editMessage(earlierPost.thread, earlierPost.id, { markdown: text })
    }
    if (earlierPost) continue
    thread ??= await findThread(rendered, adapter)
    const { id } = await adapter.postMessage(thread, { markdown: text })
    const owner = { response, agent, conversation, scope }
    await posts.remember({ id, thread, owner, index, object: opened.nameObject(thread, id) })
  }
}

/** Deletes the posts of an answer that became shorter, or that the agent has withdrawn. */
async function deleteSurplus(
  { response, texts, revision }: RenderedPosts,
  earlierPosts: ReadonlyMap<number, StoredPost>,
  { opened, posts }: DeliverDeps,
): Promise<void> {
  if (revision === undefined) return
  for (const [index, { thread, id }] of earlierPosts) {
    if (index < texts.length) continue
    await opened.adapter.deleteMessage(thread, id)
    await posts.remove(response, index)
  }
}

/** Returns the thread for an answer: that of the message, or else the direct conversation with its writer. */
async function findThread(
  { thread, user, isPrivate }: RenderedPosts,
  adapter: OpenedPlatform['adapter'],
): Promise<string> {
  if (thread !== '' && isPrivate !== true) return thread
  if (!adapter.openDM) throw new Undeliverable('Cannot answer in private: the platform has no direct conversations')
  return adapter.openDM(user)
}

function describeResult({ texts, revision }: RenderedPosts): string {
  if (revision !== undefined) return revision === 'edit' ? 'edited' : 'deleted'
  return texts.length === 0 ? 'nothing to post' : `${texts.length} posted`
}
