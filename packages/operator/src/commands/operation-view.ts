// Prints the answer of one operation for a command, which passes its arguments and options to the operation under the same names.
import type { z } from 'zod'
import { assignMembers } from '../api/call.ts'
import type { ApiOperation, OperationAnswer } from '../api/operation.ts'
import type { FilteredPage } from '../api/page.ts'
import type { ApiOutput } from './context.ts'
import type { GivenInput } from './declare.ts'
import { printAnswer, printList } from './print-list.ts'

/** Calls an operation for a command, and prints its answer for people or as JSON. */
export type AnswerView = (output: ApiOutput, given: GivenInput) => Promise<void>

/** Converts arguments and options of the command line to members of the operation. */
type ReadGiven = (given: GivenInput) => GivenInput

interface ViewOptions<Answer> {
  /** The conversion; default: members are passed unchanged. */
  readonly read?: ReadGiven
  /** Receives the answer, whether it is printed for people or as JSON. */
  readonly note?: (answer: Answer) => void
}

const asGiven: ReadGiven = given => given

/** Creates a view that calls an operation with the given members, and prints its answer. */
export function viewOf<Of extends ApiOperation>(
  operation: Of,
  format: (answer: OperationAnswer<Of>, given: GivenInput) => string,
  { read = asGiven, note }: ViewOptions<OperationAnswer<Of>> = {},
): AnswerView {
  return async (output, given) =>
    printAnswer(output, operation, assignMembers(operation, read(given)), answer => format(answer, given), note)
}

type ListOperation<Item> = ApiOperation & { readonly answer: z.ZodType<FilteredPage<Item>> }

/** Creates a view that reads a list page by page, and prints its items. */
export function viewOfList<Item>(
  operation: ListOperation<Item>,
  format: (items: readonly Item[]) => string,
  read = asGiven,
): AnswerView {
  return async (output, given) =>
    printList<Item>(output, {
      readPage: (client, page) => client.call(operation, assignMembers(operation, { ...read(given), ...page })),
      format,
    })
}
