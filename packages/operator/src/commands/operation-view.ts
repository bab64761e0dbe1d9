// Creates views of commands: a view calls one operation with the command’s arguments and options, and prints the answer.
import type { z } from 'zod'
import { assignMembers } from '../api/call.ts'
import type { ApiOperation, OperationAnswer } from '../api/operation.ts'
import type { FilteredPage } from '../api/page.ts'
import type { ApiOutput } from './context.ts'
import type { CommandInput } from './declare.ts'
import { printAnswer, printList } from './print-list.ts'

/** Calls an operation for a command, and prints its answer for people or as JSON. */
export type PrintAnswer = (output: ApiOutput, input: CommandInput) => Promise<void>

/** Converts arguments and options of the command line to members of the operation. */
type ToOperationInput = (input: CommandInput) => CommandInput

interface ViewOptions<Answer> {
  /** The conversion; default: members are passed unchanged. */
  readonly read?: ToOperationInput
  /** Receives the answer, whether it is printed for people or as JSON. */
  readonly onAnswer?: (answer: Answer) => void
}

const unchanged: ToOperationInput = input => input

/** Creates a view that calls an operation with the given members, and prints its answer. */
export function createOperationView<Operation extends ApiOperation>(
  operation: Operation,
  format: (answer: OperationAnswer<Operation>, input: CommandInput) => string,
  { read = unchanged, onAnswer }: ViewOptions<OperationAnswer<Operation>> = {},
): PrintAnswer {
  return async (output, input) =>
    printAnswer(output, {
      operation,
      input: assignMembers(operation, read(input)),
      format: answer => format(answer, input),
      ...(onAnswer && { onAnswer }),
    })
}

type ListOperation<Item> = ApiOperation & { readonly answer: z.ZodType<FilteredPage<Item>> }

/** Creates a view that reads a list page by page, and prints its items. It prints at most `limit` of them if the input has this member. */
export function createListView<Item>(
  operation: ListOperation<Item>,
  format: (items: readonly Item[]) => string,
  read = unchanged,
): PrintAnswer {
  return async (output, input) => {
    const { limit, ...filter } = read(input)
    await printList<Item>(output, {
      maxItems: typeof limit === 'number' ? limit : undefined,
      readPage: (client, page) => client.call(operation, assignMembers(operation, { ...filter, ...page })),
      format,
    })
  }
}
