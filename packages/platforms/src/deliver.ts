// Posts, edits and deletes answers on a platform.
import { Undeliverable } from '@postern/message'
import type { Delivery, TransmitResult } from '@postern/pipeline'
import type { OpenedPlatform, OwnPost } from './platform.ts'
import type { Posts, StoredPost } from './posts.ts'
import type { RenderedPosts } from './render.ts'

interface DeliverDeps {
  readonly opened: Pick<
    OpenedPlatform,
    'adapter' | 'connect' | 'classify' | 'isMissing' | 'nameObject' | 'listOwnPosts'
  >
  readonly posts: Posts
}

/** The number of the attempt, and the time at which the delivery was queued. */
type Attempt = Pick<Delivery, 'attempt' | 'queuedAt'>

/**
 * Brings the posts of an answer into the rendered form. Each post is remembered as soon as the platform has it, so a repeated attempt goes on where
 * the last one ended. A repeated attempt also looks for a post whose acknowledgement was lost.
 * @throws Unavailable, Undeliverable
 */
export async function deliverPosts(
  rendered: RenderedPosts,
  attempt: Attempt,
  deps: DeliverDeps,
): Promise<TransmitResult> {
  const { opened, posts } = deps
  try {
    await opened.connect()
    const earlierPosts = await posts.list(rendered.response)
    // An earlier attempt may have deleted everything.
    const mayBeDone = rendered.revision === 'delete' && attempt.attempt > 1
    if (rendered.revision !== undefined && earlierPosts.size === 0 && !mayBeDone) {
      throw new Undeliverable('Cannot change the answer: the gateway does not know where it was posted')
    }
    await writeTexts({ rendered, earlierPosts, attempt }, deps)
    await deleteSurplus(rendered, earlierPosts, deps)
    return { note: describeResult(rendered) }
  } catch (error) {
    throw opened.classify(error)
  }
}

interface PostsToWrite {
  readonly rendered: RenderedPosts
  readonly earlierPosts: ReadonlyMap<number, StoredPost>
  readonly attempt: Attempt
}

async function writeTexts({ rendered, earlierPosts, attempt }: PostsToWrite, deps: DeliverDeps): Promise<void> {
  const { opened, posts } = deps
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
    const lostPost = attempt.attempt > 1 ? await findLostPost(text, { thread, attempt }, deps) : undefined
    const { id } = lostPost ?? (await adapter.postMessage(thread, { markdown: text }))
    const owner = { response, agent, conversation, scope }
    await posts.remember({ id, thread, owner, index, object: opened.nameObject(thread, id) })
  }
}

/** The time by which the platform's clock may be behind ours, ms. */
const clockSkewMs = 60_000

/**
 * Finds a post of the same text that no answer owns: an earlier attempt ended after the platform had taken the post, and before that was noted. If the
 * platform does not list its messages, a second post is better than none.
 */
async function findLostPost(
  text: string,
  { thread, attempt }: { readonly thread: string; readonly attempt: Attempt },
  { opened, posts }: DeliverDeps,
): Promise<OwnPost | undefined> {
  const letters = readLetters(text)
  const listPosts = () => opened.listOwnPosts(thread, attempt.queuedAt - clockSkewMs)
  const ownPosts = await listPosts().catch(error => {
    if (opened.classify(error) instanceof Undeliverable) return []
    throw error
  })
  for (const post of ownPosts) {
    if (readLetters(post.text) !== letters) continue
    if ((await posts.findOwner(opened.nameObject(thread, post.id))) === undefined) return post
  }
  return undefined
}

/** Returns the letters and digits of a text without addresses, which are the same in Markdown and in the platform's own form. */
function readLetters(text: string): string {
  const withoutAddresses = text
    .replaceAll(/\]\((?:https?|mailto):[^)]*\)|<(?:https?|mailto):[^|>]*\|?/g, '')
    .replaceAll(/https?:\/\/[^\s<>|)\]]+/g, '')
    .replaceAll(/&(?:lt|gt|amp);/g, '')
  return (withoutAddresses.match(/[\p{L}\p{N}]/gu) ?? []).join('')
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
    await opened.adapter.deleteMessage(thread, id).catch((error: unknown) => {
      // Somebody else, or an earlier attempt, has deleted it. The other posts must go, too.
      if (!opened.isMissing(error)) throw error
    })
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
