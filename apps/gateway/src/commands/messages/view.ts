import { formatTable } from '../../terminal/table.ts'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'
import { printAnswer } from '../print-answer.ts'
import type { DeliveryChange } from './operations.ts'
import { deliveryOperations, messageOperations } from './operations.ts'
import type { DeliveryState } from './schemas.ts'
import { formatRecord } from './show.ts'

export function printMessages(openClient: ClientOpener, output: Output, limit: number): Promise<void> {
  return printAnswer(
    openClient,
    output,
    { operation: messageOperations.list, input: { query: { limit } } },
    ({ items }) =>
      formatTable(
        ['#', 'received', 'via', 'agent', 'state', 'sender', 'id'],
        items.map(({ message, received_at, via, agent, state, flags, sender, verified, id }) => [
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
  return printAnswer(
    openClient,
    output,
    { operation: messageOperations.find, input: { parameters: { id } } },
    formatRecord,
  )
}

export function printDeliveries(
  openClient: ClientOpener,
  output: Output,
  state: DeliveryState | undefined,
): Promise<void> {
  return printAnswer(
    openClient,
    output,
    { operation: deliveryOperations.list, input: { query: { state } } },
    ({ items }) =>
      formatTable(
        ['id', 'via', 'state', 'tries', 'to', 'last error'],
        items.map(({ id, via, state, attempts, to, last_error }) => [
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

export async function changeListedDelivery(
  openClient: ClientOpener,
  output: Output,
  action: DeliveryChange,
  id: string,
): Promise<void> {
  const client = await openClient()
  try {
    await client.call(deliveryOperations.change, { parameters: { id, action } })
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
