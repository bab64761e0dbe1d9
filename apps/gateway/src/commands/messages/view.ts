import type { DeliveryRecord, MessageRecord, MessageSummary } from '@postern/core'
import { formatTable } from '../../terminal/table.ts'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'
import { printAnswer } from '../print-answer.ts'
import type { DeliveryChange } from './route.ts'
import { formatRecord } from './show.ts'

export function printMessages(openClient: ClientOpener, output: Output, limit: string): Promise<void> {
  return printAnswer<{ messages: readonly MessageSummary[] }>(
    openClient,
    output,
    `/operator/api/messages?limit=${encodeURIComponent(limit)}`,
    ({ messages }) =>
      formatTable(
        ['#', 'received', 'via', 'agent', 'state', 'sender', 'id'],
        messages.map(({ message, received_at, via, agent, state, flags, sender, verified, id }) => [
          `#${message}`,
          received_at.slice(0, 19),
          via,
          agent,
          [state, ...flags].join(' '),
          verified ? sender : `${sender}?`,
          id,
        ]),
      ),
  )
}

export function printMessage(openClient: ClientOpener, output: Output, id: string): Promise<void> {
  return printAnswer<MessageRecord>(
    openClient,
    output,
    `/operator/api/messages/${encodeURIComponent(id)}`,
    formatRecord,
  )
}

export function printDeliveries(openClient: ClientOpener, output: Output, state: string | undefined): Promise<void> {
  const query = state ? `?state=${encodeURIComponent(state)}` : ''
  return printAnswer<{ deliveries: readonly DeliveryRecord[] }>(
    openClient,
    output,
    `/operator/api/deliveries${query}`,
    ({ deliveries }) =>
      formatTable(
        ['id', 'via', 'state', 'tries', 'to', 'last error'],
        deliveries.map(({ id, via, state, attempts, to, last_error }) => [
          id,
          via,
          state,
          String(attempts),
          to,
          last_error ?? '',
        ]),
      ),
  )
}

export async function changeDelivery(
  openClient: ClientOpener,
  output: Output,
  action: DeliveryChange,
  id: string,
): Promise<void> {
  const client = await openClient()
  try {
    await client.request(`/operator/api/deliveries/${encodeURIComponent(id)}/${action}`, { method: 'POST' })
    output.print(`${id}: ${changeWords[action]}`)
  } finally {
    await client.close()
  }
}

const changeWords: Readonly<Record<DeliveryChange, string>> = {
  retry: 'tried again now',
  drop: 'dropped',
  dismiss: 'dismissed',
}
