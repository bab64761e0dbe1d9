import { parseMediaType } from '@postern/http'

export const activityStreams = 'https://www.w3.org/ns/activitystreams'
/** Both spellings name the same vocabulary; servers write either (AS2 §2.1.1 knows the second). */
export const activityStreamsNames: readonly string[] = [activityStreams, activityStreams.replace('https:', 'http:')]
export const securityContext = 'https://w3id.org/security/v1'
/** Without the first, readers of JSON-LD do not see `assertionMethod`; without the second, not what a Multikey is. */
export const multikeyContexts = ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1'] as const
export const publicCollection = `${activityStreams}#Public`

/** The three spellings of the public audience on the network (ActivityPub §5.6). */
const publicNames: ReadonlySet<string> = new Set([publicCollection, 'as:Public', 'Public'])

export const activityJson = 'application/activity+json'
/** The type of our documents; most peers send a charset too. */
export const activityJsonUtf8 = `${activityJson}; charset=utf-8`
/** The types that we accept when we fetch (ActivityPub §3.2). */
export const activityAccept = `${activityJson}, application/ld+json; profile="${activityStreams}"`

export function isPublic(iri: string): boolean {
  return publicNames.has(iri)
}

/** `application/activity+json`, or `application/ld+json` with the AS2 profile; an uploaded file is neither. */
export function isActivityMediaType(contentType: string | null | undefined): boolean {
  if (contentType === activityJson || contentType === activityJsonUtf8) return true
  const media = contentType ? parseMediaType(contentType) : undefined
  if (media?.type === activityJson) return true
  const profiles = media?.parameters.get('profile')?.split(/\s+/) ?? []
  return media?.type === 'application/ld+json' && profiles.includes(activityStreams)
}
