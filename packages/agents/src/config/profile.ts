// Declares the public profile of an agent (name, icon, fields) and reads its icon file.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { detectMedia } from '@postern/http'
import { ConfigError } from '@postern/message'
import { z } from 'zod'
import { cardConfigSchema } from './card.ts'

const maxFields = 8
const maxAccounts = 10

const webAddressSchema = z.url({ protocol: /^https$/, error: 'must be an https address' }).max(2_000)

/** An address with a scheme must use https; anything else is the path of a file. */
const iconSchema = z
  .string()
  .min(1)
  .max(2_000)
  .refine(icon => isFilePath(icon) || webAddressSchema.safeParse(icon).success, 'must be an https address, or a file')

/** The public profile of an agent; each member may stand in every entry of `agents`. */
export const profileConfigShape = {
  /** Name that people see; default: what the kind says, else the agent's own name. */
  name: z.string().min(1).max(100).optional(),
  /** Purpose of the agent, in its profile and its cards. */
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
  /** Further members of its A2A card. */
  a2a: cardConfigSchema.optional(),
  /** Lets directories of the fediverse list the agent. */
  discoverable: z.boolean().default(false),
  /** Lets servers offer its public posts in their search. */
  indexable: z.boolean().default(false),
  /** Actors that are the same agent elsewhere, and may move their followers here. */
  also_known_as: z.array(webAddressSchema).max(maxAccounts).optional(),
}

/** Returns true if an icon is the path of a file, because it has no scheme. One letter and a colon is a drive. */
function isFilePath(icon: string): boolean {
  return !/^[a-z][a-z0-9+.-]+:/i.test(icon)
}

/** A picture that the gateway serves itself. */
export interface AgentIcon {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly mediaType: string
  /** The name in the URL. It begins with the digest of the bytes, because servers that have a copy fetch a new one only from a new address. */
  readonly fileName: string
}

interface IconSetting {
  /** The configuration key that names the icon. */
  readonly key: string
  readonly baseDir: string
}

/** The maximum size of a picture file, bytes. Servers refuse larger ones. */
const maxIconBytes = 1024 * 1024

/** Reads the icon of an agent if it is a file. @throws ConfigError */
export async function readIcon(
  icon: string | undefined,
  { key, baseDir }: IconSetting,
): Promise<AgentIcon | undefined> {
  if (icon === undefined || !isFilePath(icon)) return undefined
  const bytes = await readFile(resolve(baseDir, icon)).catch(cause => {
    throw new ConfigError(key, `the file "${icon}" cannot be read`, 'Create it, or correct its path.', { cause })
  })
  if (bytes.length > maxIconBytes) {
    throw new ConfigError(
      key,
      `the file "${icon}" is larger than ${maxIconBytes} bytes`,
      'Make it smaller: 400 by 400 pixels do.',
    )
  }
  const imageKind = findImageKind(bytes)
  if (!imageKind) throw new ConfigError(key, `the file "${icon}" is no picture`, 'Use PNG, JPEG, GIF or WebP.')
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
  return { bytes: new Uint8Array(bytes), mediaType: imageKind.mediaType, fileName: `${digest}.${imageKind.extension}` }
}

/** The accepted media types and their file extensions. SVG is not among them: it is a document with scripts, at the gateway's own origin. */
const imageExtensions: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
}

/** Finds the type of a picture by its bytes, regardless of its name. */
export function findImageKind(bytes: Uint8Array) {
  const mediaType = detectMedia(bytes)
  const extension = imageExtensions[mediaType]
  return extension === undefined ? undefined : { mediaType, extension }
}
