// Declares the part of an agent's configuration that describes its A2A card.
import type { AgentCardDetails } from '@postern/pipeline'
import { z } from 'zod'

const webAddressSchema = z.url({ protocol: /^https?$/, error: 'must be a web address' }).max(2_000)
const createLineSchema = (maxChars: number) => z.string().trim().min(1).max(maxChars)
const mediaTypesSchema = z.array(z.string().regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+*-]+$/, 'must be a media type')).min(1)

export const cardConfigSchema = z.strictObject({
  /** Abilities of the agent; default: one skill, a conversation. */
  skills: z
    .array(
      z.strictObject({
        /** Id of the skill, unique in the card. */
        id: createLineSchema(200),
        /** Name of the skill. */
        name: createLineSchema(200),
        /** Description of the skill, for people and agents. */
        description: createLineSchema(2_000),
        /** Words by which agents find the skill. */
        tags: z.array(createLineSchema(100)).min(1).max(50),
        /** Examples of requests for the skill. */
        examples: z.array(createLineSchema(2_000)).min(1).max(20).optional(),
        /** Media types that it takes; default: `a2a.input_modes`. */
        input_modes: mediaTypesSchema.optional(),
        /** Media types that it answers with; default: `a2a.output_modes`. */
        output_modes: mediaTypesSchema.optional(),
      }),
    )
    .min(1)
    .max(100)
    .refine(list => new Set(list.map(({ id }) => id)).size === list.length, 'must not name a skill twice')
    .optional(),
  /** The organization that offers the agent. */
  provider: z
    .strictObject({
      /** Name of the organization. */
      organization: createLineSchema(200),
      /** Website of the organization. */
      url: webAddressSchema,
    })
    .optional(),
  /** Address of the agent's documentation. */
  documentation_url: webAddressSchema.optional(),
  /** Picture of the agent; default: `icon`. */
  icon_url: webAddressSchema.optional(),
  /** Extensions of A2A that the agent itself understands. */
  extensions: z
    .array(
      z.strictObject({
        /** URI of the extension. */
        uri: z
          .string()
          .regex(/^[a-z][a-z0-9+.-]*:[^\s,]+$/i, 'must be a URI')
          .max(500),
        /** Description of its use by the agent. */
        description: createLineSchema(2_000).optional(),
        /** Callers have to activate it. */
        required: z.boolean().default(false),
      }),
    )
    .min(1)
    .max(50)
    .optional(),
})

export function describeCard(config: z.output<typeof cardConfigSchema>): AgentCardDetails {
  const { skills, provider, documentation_url, icon_url, extensions } = config
  return {
    skills: skills?.map(({ input_modes, output_modes, ...skill }) => ({
      ...skill,
      inputModes: input_modes,
      outputModes: output_modes,
    })),
    provider,
    documentationUrl: documentation_url,
    iconUrl: icon_url,
    extensions,
  }
}
