// Loaded before the conformance suite, which has no option for headers: every request of its process
// shows the bearer token of the server under test. Nothing else about a request changes.
import http from 'node:http';
import { Agent, setGlobalDispatcher } from 'undici';

const shown = `Bearer ${process.env.CONFORMANCE_TOKEN}`;

// Most scenarios use fetch or undici, which meet in the dispatcher.
const withToken = (headers) => {
  if (Array.isArray(headers)) return [...headers, 'authorization', shown];
  if (headers && typeof headers[Symbol.iterator] === 'function') {
    return [...headers, ['authorization', shown]];
  }
  return { ...headers, authorization: shown };
};

setGlobalDispatcher(
  new Agent().compose((dispatch) => (options, handler) =>
    dispatch({ ...options, headers: withToken(options.headers) }, handler)
  )
);

// Those that look closely at headers use Node's own client.
const { request } = http;
http.request = (...given) => request(...given).setHeader('authorization', shown);
