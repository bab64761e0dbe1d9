import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ConfigError } from '@postern/core'
import { isFile } from './profile-config.ts'

/** A picture the gateway serves itself. */
export interface AgentIcon {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly mediaType: string
  /** Begins with the digest of the bytes: servers that keep a copy fetch another one only from another address. */
  readonly fileName: string
}

export interface IconPlace {
  /** Key of the configuration it stands under. */
  readonly key: string
  readonly baseDir: string
}

/** Of a picture file. Servers refuse larger ones. */
const maxBytes = 1024 * 1024

interface ImageKind {
  readonly mediaType: string
  readonly extension: string
  matches(head: string): boolean
}

/** By their first bytes, as Latin-1. Not SVG: it is a document with scripts, under the gateway's own origin. */
const imageKinds: readonly ImageKind[] = [
  { mediaType: 'image/png', extension: 'png', matches: head => head.startsWith('\x89PNG\r\n\x1a\n') },
  { mediaType: 'image/jpeg', extension: 'jpg', matches: head => head.startsWith('\xff\xd8\xff') },
  { mediaType: 'image/gif', extension: 'gif', matches: head => /^GIF8[79]a/.test(head) },
  { mediaType: 'image/webp', extension: 'webp', matches: head => /^RIFF[\s\S]{4}WEBP/.test(head) },
]

/** The icon of an agent, when it is a file. @throws ConfigError */
export async function readIcon(icon: string | undefined, { key, baseDir }: IconPlace): Promise<AgentIcon | undefined> {
  if (icon === undefined || !isFile(icon)) return undefined
  const bytes = await readFile(resolve(baseDir, icon)).catch(cause => {
    throw new ConfigError(key, `the file "${icon}" cannot be read`, 'Create it, or correct its path.', { cause })
  })
  if (bytes.length > maxBytes) {
    throw new ConfigError(
      key,
      `the file "${icon}" is larger than ${maxBytes} bytes`,
      'Make it smaller: 400 by 400 pixels do.',
    )
  }
  const kind = imageKinds.find(({ matches }) => matches(bytes.toString('latin1', 0, 16)))
  if (!kind) throw new ConfigError(key, `the file "${icon}" is no picture`, 'Use PNG, JPEG, GIF or WebP.')
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
  return { bytes: new Uint8Array(bytes), mediaType: kind.mediaType, fileName: `${digest}.${kind.extension}` }
}
