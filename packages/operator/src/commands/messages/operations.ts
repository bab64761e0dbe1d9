// Declares the operations on messages, conversations, deliveries and refusals.
import { z } from 'zod'
import type { OperationInput } from '../../api/call.ts'
import { defineOperation } from '../../api/operation.ts'
import { listFilters, pageOf, pageParameters, unknownNameRefusal } from '../../api/page.ts'
import {
  conversationSchema,
  deliveryRecordSchema,
  messageRecordSchema,
  messageSummarySchema,
  refusalCodes,
  refusalRecordSchema,
} from './schemas.ts'
import { deliveryStates, messageStates } from './states.ts'

const { agent, channel, sender, flag, since, until, text } = listFilters

export type MessageFilter = NonNullable<OperationInput<typeof messageOperations.list>['query']>

export type ConversationFilter = Omit<
  NonNullable<OperationInput<typeof conversationOperations.list>['query']>,
  'limit' | 'after'
>

export const messageOperations = {
  list: defineOperation({
    id: 'listMessages',
    method: 'GET',
    path: '/messages',
    summary: 'Lists the messages that came in, newest first.',
    task: 'list messages',
    query: z.object({
      agent,
      channel,
      state: z.enum(messageStates).optional().describe('Only in this state.'),
      sender,
      flag,
      since,
      until,
      text: text.describe('Only where the text contains this, in any case; leaves out messages of more than 32 KiB.'),
      ...pageParameters,
    }),
    answer: pageOf(messageSummarySchema),
    refusals: unknownNameRefusal,
  }),
  find: defineOperation({
    id: 'findMessage',
    method: 'GET',
    path: '/messages/{id}',
    summary: 'Shows one message: proofs, the text that the agent got, its answer, every delivery.',
    task: 'show message',
    parameters: z.object({
      id: z.string().describe('The message’s number (`12`, `#12`), or the peer’s id, percent-encoded.'),
    }),
    answer: messageRecordSchema,
    refusals: { no_recipient: 'There is no message with this id.' },
  }),
}

export const conversationOperations = {
  list: defineOperation({
    id: 'listConversations',
    method: 'GET',
    path: '/conversations',
    summary: 'Lists the conversations, the newest first.',
    task: 'list conversations',
    query: z.object({
      agent,
      channel,
      sender: sender.describe('Only where the address of the first sender contains this, in any case.'),
      since: since.describe('Only conversations whose newest message came at or after this instant, ISO 8601.'),
      until: until.describe('Only conversations whose newest message came before this instant, ISO 8601.'),
      ...pageParameters,
    }),
    answer: pageOf(conversationSchema),
    refusals: unknownNameRefusal,
  }),
}

const deliveryChanges = ['retry', 'drop', 'dismiss'] as const
export type DeliveryChange = (typeof deliveryChanges)[number]

export const deliveryOperations = {
  list: defineOperation({
    id: 'listDeliveries',
    method: 'GET',
    path: '/deliveries',
    summary: 'Lists the deliveries, newest first.',
    task: 'list deliveries',
    query: z.object({
      agent,
      channel,
      state: z.enum(deliveryStates).optional().describe('Only in this state.'),
      since,
      until,
      text: text.describe('Only where the destination or the last error contains this, in any case.'),
      ...pageParameters,
    }),
    answer: pageOf(deliveryRecordSchema),
    refusals: unknownNameRefusal,
  }),
  find: defineOperation({
    id: 'findDelivery',
    method: 'GET',
    path: '/deliveries/{id}',
    summary: 'Shows one delivery with each attempt: its time, duration and reply.',
    task: 'show delivery',
    parameters: z.object({ id: z.string() }),
    answer: deliveryRecordSchema,
    refusals: { no_recipient: 'There is no delivery with this id.' },
  }),
  change: defineOperation({
    id: 'changeDelivery',
    method: 'POST',
    path: '/deliveries/{id}/{action}',
    summary: 'Tries a delivery again now, gives it up, or takes a dead letter out of the count.',
    task: 'change delivery',
    parameters: z.object({ id: z.string(), action: z.enum(deliveryChanges) }),
    answer: z.object({ id: z.string(), done: z.enum(deliveryChanges) }),
    refusals: { no_recipient: 'There is no delivery with this id in a state that allows the change.' },
  }),
}

export const refusalOperations = {
  list: defineOperation({
    id: 'listRefusals',
    method: 'GET',
    path: '/refusals',
    summary: 'Lists refused traffic, newest first; never a secret or a body.',
    task: 'list refusals',
    query: z.object({
      agent,
      channel,
      code: z.enum(refusalCodes).optional().describe('Only with this code.'),
      sender: sender.describe('Only refusals whose claimed sender or network address contains this, in any case.'),
      since,
      until,
      text: text.describe('Only where the reason contains this, in any case.'),
      ...pageParameters,
    }),
    answer: pageOf(refusalRecordSchema),
    refusals: unknownNameRefusal,
  }),
}
