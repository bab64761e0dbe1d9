// Reads the visibility of a post from its addressing.
import type { Visibility } from '@postern/message'
import type { JsonObject } from './json-object.ts'
import { idsOf, typeOf } from './json-object.ts'
import { isPublicCollection } from './vocabulary.ts'

const visibilitiesWidestFirst: readonly Visibility[] = ['public', 'unlisted', 'followers', 'direct']

/**
 * Returns the visibility of a document by its own addressing, as Mastodon reads `to` and `cc`, or undefined if the
 * document names nobody.
 */
export function readVisibility(json: JsonObject, followers: string | undefined): Visibility | undefined {
  // A chat is between two people, regardless of its addressing (Pleroma, Lemmy, Mbin).
  if (typeOf(json) === 'ChatMessage') return 'direct'
  const to = idsOf(json.to)
  const cc = idsOf(json.cc)
  if (to.some(isPublicCollection)) return 'public'
  if (cc.some(isPublicCollection)) return 'unlisted'
  if (followers && (to.includes(followers) || cc.includes(followers))) return 'followers'
  return to.length + cc.length > 0 ? 'direct' : undefined
}

export function chooseNarrower(left: Visibility, right: Visibility): Visibility {
  return visibilitiesWidestFirst.indexOf(left) > visibilitiesWidestFirst.indexOf(right) ? left : right
}

/**
 * Returns the visibility of a response. It is never wider than that of the answered post. This gateway cannot address the followers of others, so
 * a response to a post for followers is direct.
 */
export function chooseReplyVisibility(
  originalVisibility: Visibility,
  requestedVisibility: Visibility | undefined,
): Visibility {
  const widestVisibility = originalVisibility === 'followers' ? 'direct' : originalVisibility
  return chooseNarrower(widestVisibility, requestedVisibility ?? widestVisibility)
}

/** Returns true if everyone may read a post. */
export function isReadableByEveryone(visibility: Visibility): boolean {
  return visibility === 'public' || visibility === 'unlisted'
}
