import type { Visibility } from '@postern/core'
import type { JsonObject } from './reading.ts'
import { idsOf, typeOf } from './reading.ts'
import { isPublic } from './vocabulary.ts'

const byWidth: readonly Visibility[] = ['public', 'unlisted', 'followers', 'direct']

/**
 * The audience of a document by its own addressing, as Mastodon reads `to` and `cc`; undefined when it names nobody.
 */
export function readVisibility(json: JsonObject, followers: string | undefined): Visibility | undefined {
  // A chat is between two, whatever it is addressed to (Pleroma, Lemmy, Mbin).
  if (typeOf(json) === 'ChatMessage') return 'direct'
  const to = idsOf(json.to)
  const cc = idsOf(json.cc)
  if (to.some(isPublic)) return 'public'
  if (cc.some(isPublic)) return 'unlisted'
  if (followers && (to.includes(followers) || cc.includes(followers))) return 'followers'
  return to.length + cc.length > 0 ? 'direct' : undefined
}

export function narrower(left: Visibility, right: Visibility): Visibility {
  return byWidth.indexOf(left) > byWidth.indexOf(right) ? left : right
}

/**
 * An answer is never wider than the post it answers. We cannot address the followers of others: there the answer is
 * direct.
 */
export function replyVisibility(original: Visibility, wanted: Visibility | undefined): Visibility {
  const widest = original === 'followers' ? 'direct' : original
  return narrower(widest, wanted ?? widest)
}

/** Whether everyone may read it. */
export function isOpen(visibility: Visibility): boolean {
  return visibility === 'public' || visibility === 'unlisted'
}
