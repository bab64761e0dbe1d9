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
export function isFile(icon: string): boolean {
  return !/^[a-z][a-z0-9+.-]+:/i.test(icon)
}
