// Finds the longest post that a server accepts, by its NodeInfo, its instance API or its software.
import { parseBoundedJson, parseMediaType } from '@postern/http'
import type { System } from '@postern/message'
import { Unavailable, Undeliverable } from '@postern/message'
import { findHost } from '../format/iri.ts'
import { asObject, listOf, textOf } from '../format/json-object.ts'

/** Mastodon's own limit, which every server can be expected to accept. */
export const defaultPostChars = 500
const postCharLimits = { min: 200, max: 100_000 } as const
const unboundedLength = postCharLimits.max

/** The defaults of each kind of software, which apply when its operator changes nothing. */
interface Software {
  readonly length: number
  /** Answers `GET /api/v2/instance` or `/api/v1/instance` as Mastodon does, with the operator's settings. */
  readonly hasInstanceApi: boolean
}

const createSoftwareWithApi = (length: number): Software => ({ length, hasInstanceApi: true })
const createSoftwareWithoutApi = (length: number): Software => ({ length, hasInstanceApi: false })

/** The known kinds of software, by `software.name` of NodeInfo in lower case. glitch-soc calls itself Mastodon there. */
const knownSoftware: ReadonlyMap<string, Software> = new Map([
  // mastodon: app/validators/status_length_validator.rb, MAX_CHARS
  ['mastodon', createSoftwareWithApi(500)],
  ['hometown', createSoftwareWithApi(500)],
  ['fedibird', createSoftwareWithApi(500)],
  // docs.gotosocial.org, configuration/statuses: statuses-max-chars
  ['gotosocial', createSoftwareWithApi(5_000)],
  // pleroma: config/config.exs, :instance limit
  ['pleroma', createSoftwareWithApi(5_000)],
  ['akkoma', createSoftwareWithApi(5_000)],
  // mitra: CHANGELOG, limits.posts.character_limit
  ['mitra', createSoftwareWithApi(5_000)],
  // pixelfed: config/pixelfed.php, max_caption_length; 150 in early versions
  ['pixelfed', createSoftwareWithApi(500)],
  // + friendica bounds the bytes of a post only (max_import_size), and declares them as max_toot_chars
  ['friendica', createSoftwareWithApi(unboundedLength)],
  // snac has no bound of its own
  ['snac', createSoftwareWithApi(unboundedLength)],
  // misskey: const.ts, MAX_NOTE_TEXT_LENGTH
  ['misskey', createSoftwareWithoutApi(3_000)],
  ['cherrypick', createSoftwareWithoutApi(3_000)],
  // + their .config/example.yml, maxNoteLength; in NodeInfo, and in a Mastodon API beside it
  ['sharkey', createSoftwareWithApi(3_000)],
  ['firefish', createSoftwareWithApi(3_000)],
  ['iceshrimp', createSoftwareWithApi(3_000)],
  ['iceshrimp.net', createSoftwareWithApi(3_000)],
  // lemmy: crates/utils/src/utils/validation.rs, BODY_MAX_LENGTH (of a comment)
  ['lemmy', createSoftwareWithoutApi(10_000)],
  // blogs
  ['wordpress', createSoftwareWithoutApi(unboundedLength)],
  ['writefreely', createSoftwareWithoutApi(unboundedLength)],
])

function findSoftware(name: string | undefined): Software {
  return knownSoftware.get(name?.toLowerCase() ?? '') ?? createSoftwareWithoutApi(defaultPostChars)
}

/** Returns the length that a peer declares, if it is within reason. */
function readLength(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 1) return undefined
  return Math.floor(Math.min(Math.max(value, postCharLimits.min), postCharLimits.max))
}

/** Reads the limit from Mastodon's description of an instance, version 2 or 1. `max_toot_chars` is the older member of related software. */
function readInstanceLength(document: unknown): number | undefined {
  const instance = asObject(document)
  const statuses = asObject(asObject(instance?.configuration)?.statuses)
  return readLength(statuses?.max_characters) ?? readLength(instance?.max_toot_chars)
}

const maxLinks = 20
/** The NodeInfo schemas, newest first. */
const nodeInfoSchemas = ['2.2', '2.1', '2.0', '1.1', '1.0'].map(
  version => `http://nodeinfo.diaspora.software/ns/schema/${version}`,
)

/** A function that fetches JSON from the one host and from no other. @throws Unavailable, Undeliverable, Rejection */
type GetJson = (url: string) => Promise<unknown>

interface PostLengthResult {
  readonly length: number
  /** True if the host itself gave the limit, or answered well enough that we know its software. */
  readonly isKnown: boolean
}

/** The time limit for all requests to one host, ms. */
const timeoutMs = 10_000
const maxDescriptionBytes = 256 * 1024

/** Asks a host for its limit. It never throws. */
export function fetchPostLength(
  host: string,
  { fetch, now }: Pick<System, 'fetch' | 'now'>,
): Promise<PostLengthResult> {
  const deadlineAt = now() + timeoutMs
  async function getJson(url: string): Promise<unknown> {
    const timeoutMs = deadlineAt - now()
    if (timeoutMs <= 0) throw new Unavailable('Cannot look up limits: no answer in time')
    const { status, headers, body } = await fetch(url, {
      timeoutMs,
      maxBytes: maxDescriptionBytes,
      headers: { accept: 'application/json' },
    })
    const type = parseMediaType(headers.get('content-type') ?? '')?.type ?? ''
    if (status !== 200 || !/^application\/(?:[\w.-]+\+)?json$/.test(type)) {
      throw new Undeliverable('Cannot look up limits: the answer is no JSON')
    }
    return parseBoundedJson(body, { maxDepth: 16, label: 'description' })
  }
  return findLength(host, getJson).catch(() => unknownLength)
}

const unknownLength: PostLengthResult = { length: defaultPostChars, isKnown: false }

/** Finds the limit in NodeInfo, or else in the instance document, or else the default of its software. */
async function findLength(host: string, getJson: GetJson): Promise<PostLengthResult> {
  const nodeInfo = await fetchNodeInfo(host, getJson)
  const length = readLength(asObject(nodeInfo?.metadata)?.maxNoteTextLength)
  if (length !== undefined) return { length, isKnown: true }
  const software = findSoftware(textOf(asObject(nodeInfo?.software)?.name))
  if (!software.hasInstanceApi) return { length: software.length, isKnown: true }
  const instanceLength = await findInstanceLength(host, getJson)
  return { length: instanceLength ?? software.length, isKnown: instanceLength !== undefined }
}

async function fetchNodeInfo(host: string, getJson: GetJson): Promise<ReturnType<typeof asObject>> {
  if (findHost(`https://${host}/`) !== host) throw new Undeliverable('Cannot look up limits: the host is no name')
  const discovery = asObject(await getJson(`https://${host}/.well-known/nodeinfo`))
  const links = listOf(discovery?.links).slice(0, maxLinks).map(asObject)
  const hrefs = nodeInfoSchemas.map(schema => textOf(links.find(link => link?.rel === schema)?.href))
  const descriptionUrl = hrefs.find(href => href !== undefined && findHost(href) === host)
  if (!descriptionUrl) throw new Undeliverable('Cannot look up limits: there is no description on the same host')
  return asObject(await getJson(descriptionUrl))
}

async function findInstanceLength(host: string, getJson: GetJson): Promise<number | undefined> {
  for (const version of ['v2', 'v1']) {
    const length = await getJson(`https://${host}/api/${version}/instance`).then(readInstanceLength, () => undefined)
    if (length !== undefined) return length
  }
  return undefined
}
