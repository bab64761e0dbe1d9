import type { Delivery } from '@postern/core'
import type { NotifyRooms } from './push/notify.ts'
import { notifyWatch } from './push/notify.ts'
import type { TaskDocument } from './render.ts'

/** What a caller fetches himself stays; who watches the task is told. @throws Unavailable, Undeliverable */
export function createTaskDelivery(rooms: NotifyRooms) {
  return async (
    { task, isPushed }: TaskDocument,
    delivery: Delivery,
  ): Promise<{ readonly note?: string | undefined }> =>
    isPushed ? notifyWatch({ task }, delivery, rooms) : { note: 'kept for the caller to fetch' }
}
