import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ConfigError } from '@postern/core'
import { detectMedia } from '@postern/http'
import { z } from 'zod'

const maxFields = 8
const maxAccounts = 10

const webAddressSchema = z.url({ protocol: /^https$/, error: 'must be an https address' }).max(2_000)

/** An address with a scheme must be https; anything else is a file. */
const iconSchema = z
  .string()
  .min(1)
  .max(2_000)
  .refine(icon => isFile(icon) || webAddressSchema.safeParse(icon).success, 'must be an https address, or a file')

/** What an agent is shown with; each member of it may stand in every entry of `agents`. */
export const profileConfigShape = {
  /** Name that people see; default: what the kind says, else the agent's own name. */
  name: z.string().min(1).max(100).optional(),
  /** What the agent is for, in its profile and its cards. */
  description: z.string().max(2_000).optional(),
  /** An https address, or an image file relative to the configuration file, which the gateway serves. */
  icon: iconSchema.optional(),
  /** Rows beside the description. */
  fields: z
    .array(
      z.strictObject({
        /** Label of the row. */
        name: z.string().trim().min(1).max(100),
        /** Plain text, or one https address, which becomes a link. */
        value: z.string().trim().min(1).max(500),
      }),
    )
    .max(maxFields)
    .optional(),
  /** Whether directories of the fediverse may list it. */
  discoverable: z.boolean().default(false),
  /** Whether servers may let people search its public posts. */
  indexable: z.boolean().default(false),
  /** Actors that are the same agent elsewhere, and may move their followers here. */
  also_known_as: z.array(webAddressSchema).max(maxAccounts).optional(),
}

/** Whether an icon is a file's path: it names no scheme. One letter and a colon is a drive. */
function isFile(icon: string): boolean {
  return !/^[a-z][a-z0-9+.-]+:/i.test(icon)
}

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

/** Pictures, and how their files' names end. Not SVG: it is a document with scripts, under the gateway's own origin. */
const imageExtensions: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
}

/** The kind of picture by its bytes, whatever its name. */
export function findImageKind(bytes: Uint8Array) {
  const mediaType = detectMedia(bytes)
  const extension = imageExtensions[mediaType]
  return extension === undefined ? undefined : { mediaType, extension }
}
