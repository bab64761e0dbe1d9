import type { TaskDesk } from '@postern/core'
import type { SqliteDesk } from '@postern/store'
import { Hono } from 'hono'
import { z } from 'zod'
import { readOperatorRequest } from './request.ts'

export interface OwnerRouteOptions
  extends Pick<TaskDesk, 'expireTasks'>,
    Pick<SqliteDesk, 'transcript' | 'objects' | 'shelf'> {}

const problem = 'Cannot forget: say "owner", the key of somebody\u2019s chats, such as web:["https://id.example","ann"]'
const forgettingSchema = z.strictObject({
  owner: z
    .string()
    .regex(/^web:\[.+\]$/s)
    .max(1100),
})

/** Somebody who chats: all that is his, in every format, is deleted. */
export function createOwnerRoutes(desk: OwnerRouteOptions): Hono {
  return new Hono().post('/owners/forget', async context => {
    const { owner } = await readOperatorRequest(context, forgettingSchema, { problem })
    return context.json({ owner, ...(await forgetOwner(owner, desk)) })
  })
}

const sliceSize = 50

async function forgetOwner(owner: string, { expireTasks, transcript, objects, shelf }: OwnerRouteOptions) {
  let runs = 0
  for (let isDone = false; !isDone; ) {
    const slice = await expireTasks({ owner, most: 0, limit: sliceSize })
    runs += slice.removed
    isDone = slice.isDone
  }
  return {
    runs,
    threads: await transcript.forgetOwner(owner),
    attachments: await objects.removeObjects(owner),
    records: await shelf.removeOwner(owner),
  }
}
