import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ConfigError } from '@postern/core'
import { findImageKind } from './image-kind.ts'
import { isFile } from './profile.ts'

/** A picture the gateway serves itself. */
export interface AgentIcon {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly mediaType: string
  /** Begins with the digest of the bytes, because servers with a copy fetch a new one only from a new address. */
  readonly fileName: string
}

interface IconPlace {
  /** Key of the configuration it stands under. */
  readonly key: string
  readonly baseDir: string
}

/** Of a picture file. Servers refuse larger ones. */
const maxBytes = 1024 * 1024

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
  const kind = findImageKind(bytes)
  if (!kind) throw new ConfigError(key, `the file "${icon}" is no picture`, 'Use PNG, JPEG, GIF or WebP.')
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
  return { bytes: new Uint8Array(bytes), mediaType: kind.mediaType, fileName: `${digest}.${kind.extension}` }
}
