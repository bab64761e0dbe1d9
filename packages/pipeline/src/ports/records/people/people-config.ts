// Describes an agent's configuration about people with several addresses.

import { z } from 'zod'

// The comments on `share` and `mail` explain these modes.
const sharedHistoryModes = ['none', 'history', 'history+state'] as const

const mailCopyModes = ['none', 'decided', 'all'] as const

/** The key `people` of an agent's configuration. */
export const agentPeopleShape = {
  people: z
    .strictObject({
      /** True if people who write to the agent may link a second address. */
      link: z.boolean().default(false),
      /** The part of a person's conversations under other addresses that the agent gets: nothing, their history, or history and state. */
      share: z.enum(sharedHistoryModes).default('none'),
      /** The answers that also go to a linked mailbox: none, those after an operator's decision, or all. */
      mail: z.enum(mailCopyModes).default('none'),
    })
    .refine(({ link, share }) => link || share === 'none', {
      path: ['share'],
      message: 'shares between linked addresses: set "link" to true, too',
    })
    .refine(({ link, mail }) => link || mail === 'none', {
      path: ['mail'],
      message: 'goes to linked mailboxes: set "link" to true, too',
    })
    .optional(),
} as const

export type PeopleConfig = NonNullable<z.output<typeof agentPeopleShape.people>>
