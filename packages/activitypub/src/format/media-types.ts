// Recognizes the media types of ActivityStreams documents.

import { parseMediaType } from '@postern/http'
import { activityStreams } from './vocabulary.ts'

export const activityJson = 'application/activity+json'

/** The type of our documents. Most peers send a charset too. */
export const activityJsonUtf8 = `${activityJson}; charset=utf-8`

/** The types that we accept when we fetch (ActivityPub §3.2). */
export const activityAccept = `${activityJson}, application/ld+json; profile="${activityStreams}"`

/**
 * Returns true if a media type is `application/activity+json`, or `application/ld+json` with the AS2 profile. An uploaded file
 * is neither.
 */
export function isActivityMediaType(contentType: string | null | undefined): boolean {
  if (contentType === activityJson || contentType === activityJsonUtf8) return true
  const media = contentType ? parseMediaType(contentType) : undefined
  if (media?.type === activityJson) return true
  const profiles = media?.parameters.get('profile')?.split(/\s+/) ?? []
  return media?.type === 'application/ld+json' && profiles.includes(activityStreams)
}
