// Provides a tool that makes up the weather of a city.
import { defineTool } from 'postern'

export const weather = defineTool({
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  run: ({ city }) => `a real look at ${city}`,
})
