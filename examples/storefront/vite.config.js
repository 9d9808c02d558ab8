// The page asks below /api; Vite passes that on to the API of the same branch.
export default {
  server: {
    proxy: {
      "/api": {
        target: process.env.API_URL,
        rewrite: (path) => path.replace(/^\/api/, ""),
      },
    },
  },
};
