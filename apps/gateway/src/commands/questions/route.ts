import { Hono } from 'hono'
import { z } from 'zod'
import { readOperatorRequest } from '../request.ts'
import type { OperatorQuestionStore } from './questions.ts'
import { refuseUnknownQuestion } from './questions.ts'

const answerSchema = z.strictObject({ text: z.string().min(1).max(50_000) })
const reading = { problem: 'Cannot answer: say "text", what the one who asked is to read' }

/** What agents ask of humans, and the humans' answers. */
export function createQuestionRoutes(operators: OperatorQuestionStore): Hono {
  return new Hono()
    .get('/questions', async context => context.json({ questions: await operators.list() }))
    .post('/questions/:id', async context => {
      const { text } = await readOperatorRequest(context, answerSchema, reading)
      const id = context.req.param('id')
      if (!(await operators.answer(id, text))) refuseUnknownQuestion()
      return context.json({ id, answered: true })
    })
}
