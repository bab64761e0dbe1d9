import { asObject } from '../format/document.ts'

/** Mastodon's own limit, which every server can be expected to accept. */
export const commonLength = 500
const bounds = { least: 200, most: 100_000 } as const
const unbounded = bounds.most

/** The defaults of each kind of software, which apply when its operator changes nothing. */
interface Software {
  readonly length: number
  /** Answers `GET /api/v2/instance` or `/api/v1/instance` as Mastodon does, with the operator's settings. */
  readonly hasInstanceApi: boolean
}

const withApi = (length: number): Software => ({ length, hasInstanceApi: true })
const without = (length: number): Software => ({ length, hasInstanceApi: false })

/** By `software.name` of NodeInfo, in lower case. glitch-soc calls itself Mastodon there. */
const knownSoftware: ReadonlyMap<string, Software> = new Map([
  // mastodon: app/validators/status_length_validator.rb, MAX_CHARS
  ['mastodon', withApi(500)],
  ['hometown', withApi(500)],
  ['fedibird', withApi(500)],
  // docs.gotosocial.org, configuration/statuses: statuses-max-chars
  ['gotosocial', withApi(5_000)],
  // pleroma: config/config.exs, :instance limit
  ['pleroma', withApi(5_000)],
  ['akkoma', withApi(5_000)],
  // mitra: CHANGELOG, limits.posts.character_limit
  ['mitra', withApi(5_000)],
  // pixelfed: config/pixelfed.php, max_caption_length; 150 in early versions
  ['pixelfed', withApi(500)],
  // + friendica bounds the bytes of a post only (max_import_size), and declares them as max_toot_chars
  ['friendica', withApi(unbounded)],
  // snac has no bound of its own
  ['snac', withApi(unbounded)],
  // misskey: const.ts, MAX_NOTE_TEXT_LENGTH
  ['misskey', without(3_000)],
  ['cherrypick', without(3_000)],
  // + their .config/example.yml, maxNoteLength; in NodeInfo, and in a Mastodon API beside it
  ['sharkey', withApi(3_000)],
  ['firefish', withApi(3_000)],
  ['iceshrimp', withApi(3_000)],
  ['iceshrimp.net', withApi(3_000)],
  // lemmy: crates/utils/src/utils/validation.rs, BODY_MAX_LENGTH (of a comment)
  ['lemmy', without(10_000)],
  // blogs
  ['wordpress', without(unbounded)],
  ['writefreely', without(unbounded)],
])

export function softwareNamed(name: string | undefined): Software {
  return knownSoftware.get(name?.toLowerCase() ?? '') ?? without(commonLength)
}

/** The length that a peer declares, if it is within reason. */
export function readLength(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 1) return undefined
  return Math.floor(Math.min(Math.max(value, bounds.least), bounds.most))
}

/** From Mastodon's description of an instance, version 2 or 1; `max_toot_chars` is what its relatives had before. */
export function readInstanceLength(document: unknown): number | undefined {
  const instance = asObject(document)
  const statuses = asObject(asObject(instance?.configuration)?.statuses)
  return readLength(statuses?.max_characters) ?? readLength(instance?.max_toot_chars)
}
