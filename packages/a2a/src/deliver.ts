import type { Delivery, Transmitted } from '@postern/core'
import type { NotifyDeps } from './push/notify.ts'
import { notifyWatch } from './push/notify.ts'
import type { TaskDocument } from './render.ts'

/** The caller fetches an answer; subscribers get a notification. @throws Unavailable, Undeliverable */
export function createTaskDelivery(deps: NotifyDeps) {
  return async ({ task, isPushed }: TaskDocument, delivery: Delivery): Promise<Transmitted> =>
    isPushed ? notifyWatch({ task }, delivery, deps) : { note: 'kept for the caller to fetch' }
}
