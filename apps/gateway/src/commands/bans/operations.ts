import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import { listFilters, pageOf, pageParameters } from '../../api/page.ts'

const banShape = {
  id: z.string(),
  policy: z.string().describe('Policy of the swarm that banned them.'),
  subject: z.string().describe('The banned sender.'),
}

export const banOperations = {
  list: defineOperation({
    id: 'listBans',
    method: 'GET',
    path: '/agents/{agent}/bans',
    summary: 'Lists the senders whom a swarm has banned, newest first.',
    task: 'list bans',
    parameters: z.object({ agent: z.string() }),
    query: z.object({ sender: listFilters.sender, ...pageParameters }),
    answer: pageOf(z.object({ place: z.int().describe('Number of it.'), ...banShape }).meta({ id: 'Ban' })),
  }),
  lift: defineOperation({
    id: 'liftBan',
    method: 'DELETE',
    path: '/agents/{agent}/bans/{id}',
    summary: 'Lifts a ban.',
    task: 'lift ban',
    parameters: z.object({ agent: z.string(), id: z.string() }),
    answer: z.object({ ...banShape, lifted: z.literal(true) }),
    refusals: { no_recipient: 'There is none with this id.' },
  }),
} as const
